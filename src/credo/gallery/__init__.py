"""The gallery: a web page that learns what somebody likes and finds it. It computes nothing: `design.tastes` does.

`settings`   what is asked for: SPACE.toml with its [gallery] section, and the options of `credo gallery`
`events`     what can happen, as data; older events become present ones
`fold`       events → `GalleryState`: people, rounds, what they did, what they took back
`answers`    what a page sends → an answer as it is stored
`tastes`     stored answers → those of `design.tastes`; beliefs and proposals: the one place that asks it
`ranges`     parameters made narrower, fixed, and as they are shown
`gallery`    `Gallery`: events in the storage of a study, beliefs, the next round; safe for threads and processes
`view`       what the page sees of it, as JSON data
`summary`    the best as JSON and TOML; `report` of a session, with pictures
`renderers/` how a card looks: a table, the browser's own picture, the user's template, a command
`guard`      who may ask: addresses, tokens, forged requests, sizes, rates; headers
`templating` Jinja, in one place
`server`     the web application; `serving`: it runs, and the browser opens
`templates/`, `static/`, `demos/`  pages, their scripts and styles, spaces to try
"""
