"""`python -m sqlanon`: the command line for environments where the script is not on the path.

Only forwards to `sqlanon.cli`.
"""

from __future__ import annotations

from sqlanon.cli import main

if __name__ == "__main__":
    main()
