"""What views are drawn with: lines, tables, documents, strips, lanes, and the canvas that puts them on a terminal."""
