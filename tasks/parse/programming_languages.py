"""Programming languages, with their suffixes, interpreters, and distinctive words."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Language:
    """A language: suffixes and whole file names, interpreters of `#!` lines, and a pattern of signs in its text."""

    suffixes: frozenset[str]
    interpreters: frozenset[str]
    sign: str


def _language(suffixes: str, sign: str, interpreters: str = "") -> Language:
    return Language(frozenset(suffixes.split()), frozenset(interpreters.split()), sign)


# A sign is a line that is likely in this language and unlikely in others.
LANGUAGES: dict[str, Language] = {
    "python": _language(
        ".py .pyi .pyw",
        r"^(?:def|class)\s+\w+.*:\s*(?:\#.*)?$ | ^from\s+[\w.]+\s+import\s | ^import\s+[\w.]+(?:\s+as\s+\w+)?\s*$"
        r"| ^if\s__name__\s*== | ^\s+(?:elif\s.*|except\b.*|else):\s*$",
        "python python2 python3",
    ),
    "javascript": _language(
        ".js .mjs .cjs .jsx",
        r"^\s*(?:const|let|var)\s+[\w{\[].*= | ^(?:export\s+)?(?:async\s+)?function\b | require\(['\"]"
        r"| ^import\s.*\sfrom\s+['\"] | =>\s*\{\s*$ | ^module\.exports",
        "node nodejs deno",
    ),
    "typescript": _language(
        ".ts .mts .cts .tsx",
        r"^(?:export\s+)?(?:interface|type|enum|abstract\sclass)\s+\w+.*[={]\s*$"
        r"| \w\)?:\s*(?:string|number|boolean|void|any)\b"
        r"| ^import\s+type\s",
        "ts-node bun",
    ),
    "go": _language(".go", r"^package\s+\w+\s*$ | ^func\s.*\{\s*$ | :=\s"),
    "rust": _language(
        ".rs",
        r"^\s*(?:pub(?:\(\w+\))?\s+)?(?:fn\s+\w+.*[\{\(,]|struct\s|enum\s|impl\b|mod\s+\w+;|trait\s)"
        r"| ^use\s+\w+:: | let\s+mut\s | ^\#!?\[",
    ),
    "java": _language(
        ".java",
        r"^package\s+[\w.]+; | ^import\s+(?:static\s+)?[\w.]+(?:\.\*)?;"
        r"| ^\s*(?:public|private|protected)\s+(?:static\s+)?(?:final\s+)?(?:class|interface|enum|record|void|\w+)\s",
    ),
    "kotlin": _language(
        ".kt .kts", r"^\s*(?:\w+\s)*fun\s+.*[\({] | ^(?:data|sealed|open)\sclass\s | ^import\s[\w.]+\s*$ | ^\s*val\s"
    ),
    "scala": _language(
        ".scala .sc", r"^\s*(?:case\s)?(?:class|object|trait)\s+\w+ | ^\s*def\s+\w+.*= | ^import\s[\w.{}_,\s]+$"
    ),
    "c": _language(".c", r"^\s*\#\s*(?:include|define|ifn?def|pragma)\b | ^\w[\w\s*]+\([^;]*\)\s*\{?\s*$"),
    "cpp": _language(
        ".cpp .cc .cxx .hpp .hh .hxx .ipp .h++",
        r"^\s*\#\s*include\s*<(?:\w+|\w+/.*)> | \bstd::"
        r"| ^\s*(?:namespace|template|class)\b | ^\s*(?:public|private|protected):",
    ),
    "csharp": _language(
        ".cs .csx",
        r"^using\s+[\w.]+; | ^\s*namespace\s+[\w.]+"
        r"| ^\s*(?:public|private|internal|protected)\s(?:\w+\s)*(?:class|interface|struct|void|\w+)\b",
    ),
    "swift": _language(
        ".swift",
        r"^import\s+\w+\s*$ | ^\s*(?:\w+\s)*func\s+\w+.*\{?\s*$ | ^\s*(?:guard|if)\slet\s"
        r"| ^\s*(?:public\s)?(?:struct|extension|protocol)\s",
    ),
    "objectivec": _language(".m .mm", r"^\s*(?:\#import\b|@interface|@implementation|@property|@end) | ^[-+]\s*\("),
    "ruby": _language(
        ".rb .rake .gemspec Gemfile Rakefile",
        r"^\s*(?:def\s+[\w.?!=]+(?:\(.*\))?|class\s+[A-Z][\w:]*(?:\s*<\s*[\w:]+)?|module\s+[A-Z]\w*)\s*$"
        r"| ^require(?:_relative)?\s | \bdo\s*\|.*\|\s*$ | ^end\s*$",
        "ruby",
    ),
    "php": _language(".php .phtml .php5", r"<\?php | <\?= | ^\s*\$\w+\s*=", "php"),
    "perl": _language(
        ".pl .pm .t", r"^\s*(?:use\s+(?:strict|warnings|[A-Z]\w*)|my\s+[\$@%(]|sub\s+\w+) | ^package\s+[\w:]+;", "perl"
    ),
    "lua": _language(
        ".lua", r"^\s*(?:local\s+(?:function\s)?\w+|function\s+[\w.:]+\(.*\))\s* | \bthen\s*$ | ^--\[\[", "lua luajit"
    ),
    "r": _language(".r .R .rmd", r"<-\s*(?:function\b|[\w(\"]) | ^library\(\w+\) | %>%", "Rscript"),
    "julia": _language(".jl", r"^(?:function|module|struct|using|mutable\sstruct)\s | ^end\s*$", "julia"),
    "haskell": _language(
        ".hs .lhs",
        r"^(?:module\s+[\w.]+|import\s+(?:qualified\s)?[A-Z][\w.]*|data\s+[A-Z]|instance\s) | ^\w+'?\s*::\s | \{-\#",
    ),
    "elixir": _language(".ex .exs", r"^\s*(?:defmodule|defp?|alias|use)\s+\w+ | \|>\s", "elixir"),
    "erlang": _language(".erl .hrl", r"^-(?:module|export|include)\( | ->\s*$", "escript"),
    "clojure": _language(".clj .cljs .cljc .edn", r"^\s*\((?:ns|defn?-?|let|require)\s"),
    "ocaml": _language(".ml .mli", r"^\s*let\s+(?:rec\s)?\w+.*= | ^open\s[A-Z]\w* | ^\s*\|\s.*->"),
    "fsharp": _language(".fs .fsi .fsx", r"^\s*let\s.*= | ^open\s[\w.]+ | ^module\s"),
    "dart": _language(
        ".dart", r"^import\s+'(?:package|dart): | ^\s*(?:@override|class\s+\w+.*\{)\s*$ | \bvoid\smain\("
    ),
    "zig": _language(".zig", r"@import\( | ^\s*(?:pub\s)?(?:fn|const)\s\w+"),
    "nim": _language(".nim", r"^\s*(?:proc|func|type|import)\s"),
    "shell": _language(
        ".sh .bash .zsh .ksh .fish .bats .bashrc .profile",
        r"^\#!.*\b(?:ba|z|k|da)?sh\b | ^\s*(?:fi|done|esac|then)\b"
        r"| ^\s*(?:export\s+)?\w+=\$?[\"'({\w] | ^\s*if\s+\[\[?\s | ^\w+\s*\(\)\s*\{",
        "sh bash zsh dash ksh fish",
    ),
    "powershell": _language(
        ".ps1 .psm1 .psd1", r"^\s*(?:function|param)\b.*[\({]? | ^\s*\$\w+\s*= | \b(?:Get|Set|New|Write)-\w+", "pwsh"
    ),
    "batch": _language(".bat .cmd", r"(?i:^@?echo\s|^rem\s|^set\s|^goto\s|^::)"),
    "sql": _language(
        ".sql .ddl .psql",
        r"(?i:^\s*(?:select|insert\s+into|create\s+(?:or\s+replace\s+)?(?:table|view|index|function)|update|delete\s+from|alter\s+table|with\s+\w+\s+as)\b)",
    ),
    "css": _language(".css .scss .sass .less", r"^\s*[.\#@]?[\w-][\w\s.\#:>,()-]*\{\s*$ | ^\s*[\w-]+:\s*[^;]+;\s*$"),
    "vue": _language(".vue .svelte .astro", r"^<(?:template|script|style)\b"),
    "makefile": _language(".mk .mak Makefile makefile GNUmakefile", r"^[\w./%$()-]+\s*:(?!=) | ^\.PHONY | ^\t", "make"),
    "cmake": _language(
        ".cmake CMakeLists.txt", r"(?i:^\s*(?:cmake_minimum_required|project|set|add_\w+|target_\w+)\s*\()"
    ),
    "dockerfile": _language(".dockerfile Dockerfile Containerfile", r"^(?:FROM|RUN|COPY|CMD|ENTRYPOINT|ENV|WORKDIR)\s"),
    "terraform": _language(
        ".tf .tfvars .hcl", r"^\s*(?:resource|variable|module|provider|output|data|locals)\b.*\{ | ^\s*\w+\s*=\s"
    ),
    "protobuf": _language(".proto", r"^syntax\s*= | ^(?:message|service|enum)\s+\w+"),
    "graphql": _language(".graphql .gql", r"^(?:type|query|mutation|schema|input|enum|fragment)\b"),
    "groovy": _language(".groovy .gradle Jenkinsfile", r"^\s*(?:def|apply|plugins|dependencies|pipeline|task)\b"),
    "fortran": _language(
        ".f .f90 .f95 .f03 .for", r"(?i:^\s*(?:program|subroutine|module|implicit\s+none|integer|real|end\b))"
    ),
    "pascal": _language(".pas .pp .dpr", r"(?i:^\s*(?:program|unit|uses|procedure|function|begin|var)\b)"),
    "vb": _language(".vb .bas .vbs", r"(?i:^\s*(?:public|private|sub|function|dim|imports|module|end\ssub)\b)"),
    "lisp": _language(".lisp .lsp .el .scm .rkt", r"^\s*\((?:def\w*|let|require|setq|provide)\b"),
    "assembly": _language(".asm .s .S", r"(?i:^\s*(?:mov|push|pop|call|jmp|ret|section|\.globl|\.text)\b)"),
    "solidity": _language(".sol", r"^(?:pragma\ssolidity|contract\s)"),
    "matlab": _language(".mat .mlx", r"^\s*(?:function\b.*=|end\s*$|%%)"),
    "verilog": _language(".v .sv .vh", r"^\s*(?:module|endmodule|always|assign|wire|reg)\b"),
    "vhdl": _language(".vhd .vhdl", r"(?i:^\s*(?:library|entity|architecture|use)\b)"),
    "json": _language(".json .jsonl .ndjson .json5 .jsonc .geojson .webmanifest", r"\A\s*[\[{]"),
    "yaml": _language(".yaml .yml", r"^[\s-]*[\w\"'./-]+:(?:\s|$) | ^---\s*$"),
    "toml": _language(".toml", r"^\[\[?[\w.\"-]+\]\]?\s*$ | ^[\w.\"-]+\s*=\s"),
    "ini": _language(".ini .cfg .conf .properties .editorconfig .env", r"^\[[^\]]+\]\s*$ | ^[\w.-]+\s*[=:]"),
    "xml": _language(
        ".xml .xsl .xslt .xsd .svg .rss .atom .plist .nxml .opml .wsdl", r"\A\s*<(?:\?xml|!DOCTYPE|[\w:]+)"
    ),
    "diff": _language(".diff .patch", r"^(?:@@\s|---\s|\+\+\+\s|diff\s--git)"),
}

BY_SUFFIX: dict[str, str] = {
    suffix.lower(): name for name, language in LANGUAGES.items() for suffix in language.suffixes if suffix != ".S"
}
BY_INTERPRETER: dict[str, str] = {word: name for name, language in LANGUAGES.items() for word in language.interpreters}
_SHARED = {".h": ("cpp", "objectivec", "c"), ".m": ("objectivec", "matlab")}


def language_of_suffix(suffix: str, text: str) -> str:
    """Return the language of a suffix or whole file name; if several share it, the text decides."""
    # The last one is used if no sign indicates another.
    for name in _SHARED.get(suffix, ())[:-1]:
        if signs(name, text):
            return name
    return _SHARED[suffix][-1] if suffix in _SHARED else BY_SUFFIX.get(suffix, "")


def signs(name: str, text: str) -> int:
    """Return the number of signs of a language in a text."""
    return sum(1 for _ in _sign(name).finditer(text))


@cache  # compiled when first used: that of all takes 20 ms, and most runs meet few languages
def _sign(name: str) -> re.Pattern[str]:
    return re.compile(LANGUAGES[name].sign, re.MULTILINE | re.VERBOSE)


PATCH = r"From \w{40} Mon Sep 17 00:00:00 2001\r?\n"  # git writes this date in all of them
_PATCH = re.compile(PATCH)


def language_of_first_line(text: str) -> str:
    """Return the language that a script's `#!` line states, "diff" for a patch by git, or ""."""
    if _PATCH.match(text):
        return "diff"
    match = re.match(r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?([A-Za-z]+)", text)
    return BY_INTERPRETER.get(match[1], "") if match else ""
