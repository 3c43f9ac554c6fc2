"""``python -m trilut``."""

import sys

from trilut.cli import main

sys.exit(main())
