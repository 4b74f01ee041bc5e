// Light or dark: what the machine prefers, or what was chosen here.

const KEY = "singlet-console-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function chosen(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function theme(): "light" | "dark" {
  const own = chosen();
  if (own === "light" || own === "dark") return own;
  return dark.matches ? "dark" : "light";
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
  document.dispatchEvent(new CustomEvent("theme"));
}

export function toggleTheme(): void {
  const other = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, other);
  } catch {
    // Then it holds for this page alone.
  }
  document.documentElement.dataset["theme"] = other;
  document.dispatchEvent(new CustomEvent("theme"));
}

dark.addEventListener("change", applyTheme);
