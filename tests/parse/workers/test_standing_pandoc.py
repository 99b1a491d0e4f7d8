"""The process of pandoc that reads one document after another."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from docmill.tasks.parse import pandoc_program
from docmill.tasks.parse.pandoc_program import PandocLimits, StandingPandoc, ask_pandoc

LIMITS = PandocLimits(heap_mb=1024, seconds=20, longest=1_000_000)
BROKEN = b"PK\x03\x04 and no more"


@pytest.fixture
def path() -> str:
    return pandoc_program._program()


def alone(path: str, reader: str, text: bytes) -> Any:
    command = [path, "--sandbox", "--standalone", "--quiet", f"--from={reader}", "--to=json"]
    return json.loads(subprocess.run(command, input=text, capture_output=True, check=True).stdout)


def test_a_standing_pandoc_reads_each_document_as_one_of_its_own_does(path: str) -> None:
    documents = [
        (
            "rst",
            "Tïtle\n=====\n\n:Author: Ann\n\nText::\n\n    code\n\n==  ==\na   b\n==  ==\n1   2\n==  ==\n".encode(),
        ),
        ("latex+raw_tex", b"\\title{A}\\begin{document}\\maketitle\\section{B}Text \\unknown{c}.\\end{document}"),
        ("org", b"#+TITLE: A\n* B\n| a | b |\n- [ ] c\n"),
    ]
    pandoc = StandingPandoc(path, LIMITS.heap_mb)
    answers = [pandoc.ask(text, reader, LIMITS) for reader, text in documents]
    pandoc.close()
    assert pandoc.served == len(documents)
    for (reader, text), answer in zip(documents, answers, strict=True):
        assert json.loads(answer.said) == alone(path, reader, text)


def test_tabs_and_ends_of_lines_are_those_that_pandoc_makes_of_them(path: str) -> None:
    text = "Text\twith ä\ttab::\r\n\r\n\tcode\tand\r\n\t\tmore\r\n".encode()
    assert pandoc_program.read_tree(text, "rst") == alone(path, "rst", text)


def test_a_document_that_is_refused_harms_none_after_it(path: str) -> None:
    pandoc = StandingPandoc(path, LIMITS.heap_mb)
    refused, read = pandoc.ask(BROKEN, "docx", LIMITS), pandoc.ask(b"Text.", "rst", LIMITS)
    pandoc.close()
    assert (refused.status, read.status) == (1, 0)
    assert b"couldn't unpack docx" in refused.said


def test_what_is_too_long_or_takes_too_long_ends_the_process_and_says_so(path: str) -> None:
    text = b"* word\n" * 100
    slow = StandingPandoc(path, LIMITS.heap_mb)
    assert slow.ask(text, "org", LIMITS._replace(seconds=0.001)).timed_out
    assert not slow.ready
    answer = ask_pandoc(path, "org", text, LIMITS._replace(longest=100))
    assert answer.too_long
    assert answer.longest > 100


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the CPU time of a process is read from /proc")
@pytest.mark.parametrize(("stopped_s", "status"), [(0.6, 0), (60, pandoc_program._TIMED_OUT)])
def test_time_that_pandoc_waits_for_a_processor_counts_for_little(path: str, stopped_s: float, status: int) -> None:
    pandoc = StandingPandoc(path, LIMITS.heap_mb)
    assert pandoc.ask(b"Text.", "rst", LIMITS).status == 0
    os.kill(pandoc._process.pid, signal.SIGSTOP)
    going_on = Timer(stopped_s, os.kill, (pandoc._process.pid, signal.SIGCONT))
    going_on.start()
    answer = pandoc.ask(b"Text.", "rst", LIMITS._replace(seconds=0.4))
    going_on.cancel()
    pandoc.close()
    assert answer.status == status


def test_a_process_that_was_killed_is_replaced(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pandoc_program, "_idle", [])
    assert ask_pandoc(path, "rst", b"Text.", LIMITS).status == 0
    (killed,) = pandoc_program._idle
    os.kill(killed._process.pid, signal.SIGKILL)
    assert ask_pandoc(path, "rst", b"Text.", LIMITS).status == 0
    (fresh,) = pandoc_program._idle
    assert fresh is not killed
    fresh.close()


def test_no_process_outlives_the_one_that_asked(path: str) -> None:
    source = (
        "import sys; from docmill.tasks.parse import pandoc_program as it;"
        "it.ask_pandoc(sys.argv[1], 'rst', b'Text.', it.PandocLimits(512, 20, 1000)); print(it._idle[0]._process.pid)"
    )
    done = subprocess.run([sys.executable, "-c", source, path], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
