/** The page's frame. Everything that a room holds is put in by the script, as text. */
export const MARKUP = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Synod</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
</head>
<body>
<header>
  <h1>Synod <span id="room"></span></h1>
  <p id="connection" role="status">not connected</p>
</header>
<form id="door">
  <label>Room <input id="room-name" autocomplete="off" autocapitalize="off" spellcheck="false" required></label>
  <label>Token <input id="token" type="password" autocomplete="off" required></label>
  <button>Watch</button>
  <p id="fault" role="alert"></p>
</form>
<main hidden>
  <section aria-labelledby="held-title"><h2 id="held-title">Who holds what</h2><ul id="held"></ul></section>
  <section aria-labelledby="open-title"><h2 id="open-title">Open</h2><ul id="open"></ul></section>
  <section aria-labelledby="log-title" class="log"><h2 id="log-title">Messages</h2><ol id="log"></ol></section>
</main>
<script src="/page.js" defer></script>
</body>
</html>
`;

export const STYLE = `:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 0 1rem 2rem; font: 1rem/1.45 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; margin: 0 0 .5rem; }
#connection::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .4em; border-radius: 50%; background: #b33; }
#connection.live::before { background: #2a8; }
form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; }
label { display: grid; gap: .2rem; } input, button { font: inherit; padding: .4rem .6rem; }
[hidden] { display: none; }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); grid-template-areas: "held log" "open log"; grid-template-rows: auto 1fr; align-items: start; }
section { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; min-width: 0; }
section.log { grid-area: log; }
ul, ol { list-style: none; margin: 0; padding: 0; }
li { padding: .3rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; white-space: pre-wrap; }
li:first-child { border-top: 0; }
#log { max-height: 75vh; overflow-y: auto; }
.who { font-weight: 600; } .dim { opacity: .7; font-size: .875em; }
@media (max-width: 45rem) { main { grid-template-columns: minmax(0, 1fr); grid-template-areas: "held" "open" "log"; grid-template-rows: auto; } #log { max-height: none; } }
`;
