// Puts labels of the alert, which its link carries as ?MODEL=...&HOST=..., in place of the placeholders in a runbook's
// commands: those that mean themselves within quotes, to a shell and to PromQL. Others stay placeholders.
const PLAIN = /^[\w./:@+-]+$/
const PLACEHOLDERS = {MODEL: /\bMODEL\b/g, HOST: /\bHOST:8000\b/g}
const labels = new URLSearchParams(location.search)
for (const [name, placeholder] of Object.entries(PLACEHOLDERS)) {
  const label = labels.get(name) ?? ""
  for (const code of PLAIN.test(label) ? document.querySelectorAll("code") : []) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(placeholder, label)
  }
}
