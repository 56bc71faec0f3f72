"""`python -m fabricbench` is the program `fabricbench`."""

from fabricbench.cli import main

if __name__ == "__main__":  # workers that are spawned import this file again
    main()
