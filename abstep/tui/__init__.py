"""The screens: one `Comparison`, drilled by keyboard. The only room that imports textual."""

import os

# Read by textual when it is first imported. Keys arrive as plain bytes: the newer keyboard protocol would need
# undoing on every way out, and no key here needs it. A lone escape is told from a sequence after 30 ms.
os.environ.setdefault("TEXTUAL_DISABLE_KITTY_KEY", "1")
os.environ.setdefault("ESCDELAY", "30")
