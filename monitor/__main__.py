"""`python -m monitor`: the same as the command `inferwatch`."""

from monitor.cli.main import main

main()
