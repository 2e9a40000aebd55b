// Theme: light, dark, or the system's; stored in the browser's local storage.

const KEY = "jeton-theme";

/** Applies the stored theme, and binds the select element. */
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
