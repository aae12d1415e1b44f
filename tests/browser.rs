//! The page of a run in a real browser: `make browser-test`, which needs Chromium and fails without it.
//!
//! Chromium is spoken to in its debugging protocol over two pipes. What it shows is kept under the target directory, to
//! be looked at.

use std::fs;
use std::io::{BufReader, prelude::*};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const FIXTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7"
);
const SWITCHES: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// Words of a drawing that do not lie within it, and words that lie on other words.
const UNREADABLE: &str = r#"JSON.stringify([...document.querySelectorAll("svg")].flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    const outside = ([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    const overlap = ([, a], [, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    const told = (what, [text]) => `${svg.querySelector("title").id}: ${what}: ${text}`;
    return words.filter(outside).map(word => told("outside", word)).concat(
        words.filter((word, place) => words.slice(place + 1).some(other => overlap(word, other)))
            .map(word => told("on other words", word)));
}))"#;

/// Chromium with one page open.
struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn start() -> Self {
        let name = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        let profile = tempfile::tempdir().unwrap();
        // The protocol is spoken over file descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 1>&2", &name])
            .args(SWITCHES)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let (to, from) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            last: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let session = browser.ask("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self
            .to
            .write_all(format!("{message}\0").as_bytes())
            .and_then(|()| self.to.flush());
        sent.expect("Chromium is installed and runs; CHROMIUM names another executable");
        loop {
            let answer = self.next();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(
            message.pop(),
            Some(0),
            "Chromium is installed and runs; CHROMIUM names another executable"
        );
        serde_json::from_slice(&message).unwrap()
    }

    /// Opens a file in a colour scheme and a width, and waits until it is loaded.
    fn open(&mut self, page: &Path, scheme: &str, width: u32) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", &json!({"features": features}));
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
        self.events.clear();
        self.ask("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let told = self.ask("Runtime.evaluate", &asked);
        assert!(told["exceptionDetails"].is_null(), "{told}");
        told["result"]["value"].clone()
    }

    /// What went wrong on the page, and what it asked for beyond itself.
    fn complaints(&self) -> Vec<&Value> {
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Log.entryAdded" | "Runtime.consoleAPICalled" | "Runtime.exceptionThrown") => true,
            Some("Network.requestWillBeSent") => event["params"]["type"] != "Document",
            _ => false,
        };
        self.events.iter().filter(is_complaint).collect()
    }

    /// Keeps what an answer holds in base 64.
    fn keep(&mut self, name: &str, method: &str, parameters: &Value) -> Vec<u8> {
        let data = self.ask(method, parameters)["data"].as_str().unwrap().to_owned();
        let bytes = decoded(&data);
        fs::write(shots().join(name), &bytes).unwrap();
        bytes
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shots() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Base 64, RFC 4648.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let digit = DIGITS.iter().position(|digit| *digit == letter).expect("base 64");
        bits = (bits << 6 | digit as u32) & 0xFFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn page() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    let run = std::env::var("RUN").unwrap_or_else(|_| FIXTURE.to_owned());
    let output = Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(["report", &run, "--out"])
        .arg(&page)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (directory, page)
}

#[test]
#[ignore = "needs Chromium: make browser-test"]
fn a_page_opens_in_light_dark_and_on_a_phone_without_a_complaint() {
    let (_directory, page) = page();
    let mut browser = Browser::start();
    let mut papers = Vec::new();
    for (scheme, width) in [("light", 1_240), ("dark", 1_240), ("light", 390), ("dark", 390)] {
        browser.open(&page, scheme, width);
        let name = format!("{scheme}-{width}");
        assert_eq!(browser.complaints(), Vec::<&Value>::new(), "{name}");
        let widest = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(
            widest,
            json!(width),
            "{name}: nothing is wider than the page but in a box of its own"
        );
        let unreadable = browser.evaluate(UNREADABLE);
        assert_eq!(unreadable, json!("[]"), "{name}");
        papers.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
        let capture = json!({"format": "png", "captureBeyondViewport": true});
        browser.keep(&format!("{name}.png"), "Page.captureScreenshot", &capture);
    }
    assert_ne!(papers[0], papers[1], "dark is another paper than light");
    let pdf = browser.keep("page.pdf", "Page.printToPDF", &json!({"printBackground": true}));
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000);
}

#[test]
#[ignore = "needs Chromium: make browser-test"]
fn links_lead_to_their_sections_and_details_open() {
    let (_directory, page) = page();
    let mut browser = Browser::start();
    browser.open(&page, "light", 1_240);
    let links = browser
        .evaluate("document.querySelectorAll('nav a').length")
        .as_u64()
        .unwrap();
    assert!(links >= 8);
    for link in 0..links {
        let arrives = format!(
            "(() => {{ const link = document.querySelectorAll('nav a')[{link}]; link.click();
            const target = document.querySelector(':target');
            return target !== null && '#' + target.id === link.hash && target.getBoundingClientRect().top < innerHeight; }})()"
        );
        assert_eq!(browser.evaluate(&arrives), json!(true), "link {link}");
    }
    let opened = "(() => { const all = [...document.querySelectorAll('details')];
        all.forEach(one => one.querySelector('summary').click());
        return all.length > 0 && all.every(one => one.open); })()";
    assert_eq!(browser.evaluate(opened), json!(true));
    assert_eq!(browser.complaints(), Vec::<&Value>::new());
}
