"""Let these tests import what they make their runs with, and the calibration's cells."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "bench" / "calibration"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
