//! Just enough of a parser to see whether tags are closed, and to ask for attributes.

/// Tags that are never closed.
const VOID: [&str; 2] = ["meta", "br"];

/// The tags of a page or a drawing, with their attributes.
pub struct Markup {
    tags: Vec<(String, Vec<(String, String)>)>,
}

impl Markup {
    /// Reads markup whose attributes all stand in double quotes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut tags, mut open) = (Vec::new(), Vec::<String>::new());
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            rest = &rest[start + 1..];
            let end = rest.find('>').ok_or("a tag does not end")?;
            let (tag, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if tag.starts_with('!') {
                continue;
            }
            if let Some(name) = tag.strip_prefix('/') {
                let last = open.pop();
                if last.as_deref() != Some(name) {
                    return Err(format!("</{name}> closes {last:?}"));
                }
                continue;
            }
            let (name, attributes) = tag.trim_end_matches('/').split_once([' ', '\n']).unwrap_or((tag, ""));
            let name = name.trim_end_matches('/').to_owned();
            if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
                open.push(name.clone());
            }
            if name == "style" {
                rest = &rest[rest.find("</style").ok_or("a style does not end")?..];
            }
            tags.push((name, self::attributes(attributes)?));
        }
        if open.is_empty() {
            Ok(Self { tags })
        } else {
            Err(format!("{open:?} stay open"))
        }
    }

    /// How many tags have this name.
    pub fn count(&self, name: &str) -> usize {
        self.tags.iter().filter(|tag| tag.0 == name).count()
    }

    /// Every value of an attribute, in order.
    pub fn values(&self, attribute: &str) -> Vec<String> {
        let attributes = self.tags.iter().flat_map(|tag| &tag.1);
        attributes
            .filter(|(name, _)| name == attribute)
            .map(|(_, value)| value.clone())
            .collect()
    }
}

fn attributes(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, quoted) = rest.split_once("=\"").ok_or_else(|| format!("{rest:?} has no value"))?;
        let (value, after) = quoted.split_once('"').ok_or_else(|| format!("{name} does not end"))?;
        attributes.push((name.trim().to_owned(), value.to_owned()));
        rest = after.trim();
    }
    Ok(attributes)
}
