//! The page as a person uses it: elements by their role and name, wherever they are in the source.

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::{
    patience::until,
    webdriver::{Element, Rect, Session, keys},
};

/// More Tab stops than any screen has.
const MOST_STOPS: usize = 80;

/// Selectors of the roles; [`NAMED`] computes the accessible names.
const ROLES: [(&str, &str); 8] = [
    ("button", "button, [role=button]"),
    ("tab", "[role=tab]"),
    ("radio", "[role=radio]"),
    ("dialog", "[role=dialog], [role=alertdialog]"),
    ("listitem", "li, [role=listitem]"),
    ("status", "[role=status]"),
    ("checkbox", "input[type=checkbox], [role=checkbox]"),
    ("textbox", "input:not([type]), input[type=text], textarea"),
];

/// The visible elements that match a selector and whose name contains a text, exact matches first.
const NAMED: &str = r#"
    const [selector, wanted] = arguments;
    const textOf = (element) => (element.textContent ?? "").replace(/\s+/g, " ").trim();
    const nameOf = (element) => {
        const labels = (element.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean);
        const own = element.id
            ? [...document.querySelectorAll(`label[for="${CSS.escape(element.id)}"]`)]
            : [];
        return element.getAttribute("aria-label")
            ?? (labels.length > 0
                ? labels.map((id) => textOf(document.getElementById(id) ?? element)).join(" ")
                : own.length > 0
                ? own.map(textOf).join(" ")
                : textOf(element));
    };
    const found = [...document.querySelectorAll(selector)]
        .filter((element) => element.checkVisibility({ visibilityProperty: true }))
        .map((element) => ({ element, name: nameOf(element) }))
        .filter(({ name }) => name.includes(wanted));
    found.sort((one, other) => one.name.length - other.name.length);
    return found[0]?.element ?? null;"#;

/// The position of the first matching element, once it is stable for three frames.
const PLACE: &str = r#"
    const [selector, done] = arguments;
    const look = (last, still) => {
        const box = document.querySelector(selector)?.getBoundingClientRect();
        if (!box) return done(null);
        const now = { x: box.x, y: box.y, width: box.width, height: box.height };
        const same = JSON.stringify(now) === JSON.stringify(last);
        if (same && still === 2) return done(now);
        requestAnimationFrame(() => look(now, same ? still + 1 : 0));
    };
    look(null, 0);"#;

/// The same for the first element whose text is a given one, also in the shadow trees, which selectors do not
/// reach into.
const PLACE_INSIDE: &str = r#"
    const [selector, wanted, done] = arguments;
    const find = (root) => {
        const own = [...root.querySelectorAll(selector)].find((found) => found.textContent.trim() === wanted);
        if (own) return own;
        for (const { shadowRoot } of root.querySelectorAll("*")) {
            const inner = shadowRoot && find(shadowRoot);
            if (inner) return inner;
        }
        return null;
    };
    const look = (last, still) => {
        const box = find(document)?.getBoundingClientRect();
        if (!box) return done(null);
        const now = { x: box.x, y: box.y, width: box.width, height: box.height };
        const same = JSON.stringify(now) === JSON.stringify(last);
        if (same && still === 2) return done(now);
        requestAnimationFrame(() => look(now, same ? still + 1 : 0));
    };
    look(null, 0);"#;

/// The texts of all matching elements, including the shadow trees of the diff viewer.
const EVERYWHERE: &str = r#"
    const [selector] = arguments;
    const texts = [];
    const look = (root) => {
        for (const element of root.querySelectorAll(selector)) texts.push(element.textContent ?? "");
        for (const element of root.querySelectorAll("*")) if (element.shadowRoot) look(element.shadowRoot);
    };
    look(document);
    return texts;"#;

impl Session {
    /// Waits for a visible element with this role and a name that contains `name`; the shortest name wins.
    ///
    /// # Errors
    /// When none appears.
    pub async fn named(&self, role: &str, name: &str) -> Result<Element> {
        let selector = selector_of(role)?;
        until(&format!("the {role} {name:?}"), async || {
            Ok(Element::read(&self.execute(NAMED, &[selector.into(), name.into()]).await?))
        })
        .await
    }

    /// Clicks the element with this role and name, once it can be clicked.
    ///
    /// # Errors
    /// When it does not appear, or stays covered.
    pub async fn press_named(&self, role: &str, name: &str) -> Result<()> {
        until(&format!("a click on the {role} {name:?}"), async || {
            // Between finding and clicking it may be drawn anew; then the new one is meant.
            Ok(self.click(&self.named(role, name).await?).await.ok())
        })
        .await
    }

    /// Clicks the first matching element, once it can be clicked.
    ///
    /// # Errors
    /// When it does not appear, or stays covered.
    pub async fn click_on(&self, selector: &str) -> Result<()> {
        until(&format!("a click on {selector}"), async || {
            Ok(self.click(&self.find(selector).await?).await.ok())
        })
        .await
    }

    /// The position of the first matching element, once it exists and has stopped moving.
    ///
    /// # Errors
    /// When it does not appear.
    pub async fn place_of(&self, selector: &str) -> Result<Rect> {
        until(&format!("the place of {selector}"), async || {
            Ok(serde_json::from_value(self.execute_async(PLACE, &[selector.into()]).await?)?)
        })
        .await
    }

    /// The same for the first element with the text `text`, including shadow trees.
    ///
    /// # Errors
    /// When it does not appear.
    pub async fn place_inside(&self, selector: &str, text: &str) -> Result<Rect> {
        until(&format!("the place of {selector} {text:?}"), async || {
            let place = self.execute_async(PLACE_INSIDE, &[selector.into(), text.into()]).await?;
            Ok(serde_json::from_value(place)?)
        })
        .await
    }

    /// Waits for a text in the first matching element.
    ///
    /// # Errors
    /// When it does not appear.
    pub async fn wait_for_text(&self, selector: &str, text: &str) -> Result<()> {
        self.find_with_text(selector, text).await.map(drop)
    }

    /// Whether an element matches now.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn has(&self, selector: &str) -> Result<bool> {
        Ok(!self.find_all(selector).await?.is_empty())
    }

    /// The texts of all matching elements, including shadow trees.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn texts_everywhere(&self, selector: &str) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.execute(EVERYWHERE, &[selector.into()]).await?)?)
    }

    /// Presses keys one after another, each on the focused element.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn press_each(&self, keys: &[&str]) -> Result<()> {
        for key in keys {
            self.press(&[key]).await?;
        }
        Ok(())
    }

    /// Moves the focus with Tab to the element with this role and name.
    ///
    /// # Errors
    /// When it does not appear, or the Tab key does not lead there.
    pub async fn tab_to(&self, role: &str, name: &str) -> Result<()> {
        for _ in 0..MOST_STOPS {
            // Looked up at each stop: it may be drawn anew on the way.
            if self.has_focus(&self.named(role, name).await?).await? {
                return Ok(());
            }
            self.press(&[keys::TAB]).await?;
        }
        bail!("failed to reach the {role} {name:?} by Tab")
    }

    /// Moves the focus with Tab into a part of the page.
    ///
    /// # Errors
    /// When the Tab key does not lead there.
    pub async fn tab_into(&self, selector: &str) -> Result<()> {
        const SCRIPT: &str = "return document.activeElement.matches(arguments[0])";
        for _ in 0..MOST_STOPS {
            if self.execute(SCRIPT, &[selector.into()]).await? == json!(true) {
                return Ok(());
            }
            self.press(&[keys::TAB]).await?;
        }
        bail!("failed to reach {selector} by Tab")
    }

    /// Waits until a matching element has the focus.
    ///
    /// # Errors
    /// When it never gets there.
    pub async fn wait_for_focus(&self, selector: &str) -> Result<()> {
        const SCRIPT: &str = "return document.activeElement.matches(arguments[0])";
        until(&format!("the focus on {selector}"), async || {
            Ok((self.execute(SCRIPT, &[selector.into()]).await? == json!(true)).then_some(()))
        })
        .await
    }

    /// Waits until a live region, which screen readers read out, contains a text.
    ///
    /// # Errors
    /// When it does not, with its last text.
    pub async fn wait_for_announcement(&self, wanted: &str) -> Result<()> {
        let said = async || self.texts_everywhere("[aria-live=assertive]").await;
        let heard = until("an announcement", async || {
            Ok(said().await?.iter().any(|text| text.contains(wanted)).then_some(()))
        })
        .await;
        match heard {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(format!("wanted {wanted:?}, heard {:?}", said().await?))),
        }
    }

    /// Whether an element has the focus.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn has_focus(&self, element: &Element) -> Result<bool> {
        const SCRIPT: &str = "return document.activeElement === arguments[0]";
        Ok(self.execute(SCRIPT, &[element.argument()]).await? == json!(true))
    }
}

fn selector_of(role: &str) -> Result<&'static str> {
    let known = ROLES.iter().find(|(name, _)| *name == role);
    known.map(|(_, selector)| *selector).with_context(|| format!("failed to find things of the role {role}"))
}
