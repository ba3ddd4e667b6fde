"""The labs: two small exact models to predict with before measuring. Models only; their screens are in `tui`."""
