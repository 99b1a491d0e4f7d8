"""Text beginnings: patterns of the first words of texts, and of what texts of a format must hold, for their records.

All are matched without regard to case, line by line.
"""

MAIL_HEADER = r"(?:From .*\r?\n)?(?:>?[A-Za-z][\w-]*:(?:[ \t].*)?(?:\r?\n[ \t].*)*(?:\r?\n|\Z)){3,}"
MAIL_NAMES = r"^(?:From|To|Subject|Date|MIME-Version|Message-ID|Received|Return-Path|Content-Type|Delivered-To):"
TAGGED = (
    r"</?(?:p|div|span|a|table|tr|td|th|ul|ol|li|h[1-6]|br|title|body|b|i|em|strong|script|img|meta|center|font)\b"
    r"[^<>]*>"
)
JSON = r"\A\s*[\[{]"
_DECLARATION = r"\s*(?:<\?xml[^>]*>\s*)?"
FICTION_BOOK = rf"{_DECLARATION}(?:<!--(?:(?!-->)[\s\S]){{0,2000}}-->\s*)*<FictionBook\b"
MAILBOX = r"From \S+ +[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:19|20)\d\d\r?\n"
APPLE_MAIL = rf"\s*\d{{1,10}}\s*\n(?=(?:.*\n){{0,40}}?(?:From|Message-Id):){MAIL_HEADER}"
EXCEL_2003 = (
    rf"{_DECLARATION}(?:<\?mso-application[^>]*Excel\.Sheet"
    r"|<(?:\w+:)?Workbook\b[^>]*urn:schemas-microsoft-com:office:spreadsheet)"
)
WIKI_DUMP = rf"{_DECLARATION}<mediawiki\b[^>]*http://www\.mediawiki\.org/xml/export-"
