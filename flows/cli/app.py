"""App: the program with all its commands, as an object."""

from docmill.flows.cli.program import main, program

app = program()

if __name__ == "__main__":
    main()
