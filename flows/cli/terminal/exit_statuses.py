"""Exit statuses: every status with which a command can end, and its meaning."""

STATUSES = {
    0: "Everything that the command was asked to do was done.",
    1: "An error, which a message on standard error explains, or a check that found something wrong.",
    2: "The command line is wrong: an unknown option, a missing argument, a value out of bounds.",
    3: "Done in part: some documents were rejected, are stale, lost text, or have to be ingested again,"
    " or some questions could not be measured.",
    4: "The gate held the new snapshot back; readers see the one before.",
    5: "A source could not be reached; its documents are kept as they were, and the other sources were ingested.",
    130: "Ctrl-C (SIGINT) ended the command. A commit that was nearly done is finished; the next run continues.",
    143: "SIGTERM ended the command, as Ctrl-C does.",
}
"""The meaning of each status; 128 plus the number of a signal is the status after that signal."""

_RUN = {
    3: "a document was rejected or is stale, some of its text was lost, or a call to the language model failed, got"
    " no usable answer, or was left out because of a limit",
}
STATUSES_OF = {
    "ingest": _RUN,
    "plan": {3: "the run would reject a document or make one stale"},
    "rejects": {3: "with `--retry`: as for `ingest`"},
    "verify": {1: "something was found"},
    "repair": {1: "documents would be lost without `--accept-loss`", 3: "some documents have to be ingested again"},
    "erase": {3: "a reader keeps an older snapshot open; erase again once it is closed"},
    "doctor": {1: "something is broken that these settings need"},
    "export": {3: "some chunks wait for their vectors and were left out"},
    "search": {3: "with `--queries`: some lines could not be searched for"},
    "evaluate questions": {3: "some questions could not be measured and are left out"},
    "evaluate facts": {1: "some prompts got no usable answer"},
}
"""The meaning of a status for some commands, where it is more specific than in `STATUSES`."""
