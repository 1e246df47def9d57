"""Forty strings that do something on a page that takes them for anything but text.

Scripts set `window.ran`; links, images and frames name `evil.example`; markup is bold or maths.
"""

from __future__ import annotations

RUN = "window.ran=1"
HOSTILE = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<iframe src='javascript:parent.{RUN}'></iframe>",
    f"<a href='javascript:{RUN}'>evil.example</a>",
    "<a href='https://evil.example'>here</a>",
    "<b>bold</b>",
    "<style>body{display:none}</style>",
    "<base href='https://evil.example/'>",
    "<form action='https://evil.example'><button>go</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href='https://evil.example/a.css'>",
    f'"><script>{RUN}</script>',
    f"'><img src=x onerror={RUN}>",
    f"</textarea><script>{RUN}</script>",
    f"</code></pre><script>{RUN}</script>",
    f"<!--><script>{RUN}</script>-->",
    f"<scr<script>ipt>{RUN}</script>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"[run](javascript:{RUN})",
    "[here](https://evil.example)",
    "![picture](https://evil.example/a.png)",
    "<https://evil.example>",
    "https://evil.example/path",
    "www.evil.example",
    "**bold** __bold__",
    "# heading",
    "$x^2$ and $$y^2$$",
    ":red[colour] :material/home: :smile:",
    "`code` ```block```",
    "| a | b |\n| - | - |\n| 1 | 2 |",
    '=HYPERLINK("https://evil.example")',
    f"${{{RUN}}} {{{{constructor.constructor('{RUN}')()}}}}",
    f"\u202e<script>{RUN}</script>\u2066",
)
