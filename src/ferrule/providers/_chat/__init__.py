"""The chat-completions dialect, shared by every adapter that speaks it.

request ──> encode ──> dialer ──> sniff ─┬─ server-sent events ──┬─> decoder ──> provider events
                                         └─ one plain JSON body ─┘
"""
