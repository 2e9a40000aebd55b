// Light or dark: as the system has it, or as chosen; the choice is kept in this browser.

const KEY = "jeton-theme";

/** Puts the kept choice into effect, and follows the element. */
export function chooseTheme(select) {
  const kept = localStorage.getItem(KEY);
  if ([...select.options].some((option) => option.value === kept)) select.value = kept;
  const apply = () => { document.documentElement.dataset.theme = select.value; };
  select.addEventListener("change", () => {
    localStorage.setItem(KEY, select.value);
    apply();
  });
  apply();
}
