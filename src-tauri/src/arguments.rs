//! What the program was started with.

/// The option that names another computer.
pub const CONNECT: &str = "--connect";
/// The option that names the program `forge` there.
pub const PROGRAM: &str = "--program";

/// What the program was started with. Links to tasks are read apart ([`crate::links`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The computer whose engine the window shows; none is this one.
    pub connect: Option<String>,
    /// The program `forge` there.
    pub program: Option<String>,
}

impl Arguments {
    /// Reads the arguments behind the program's name. Others belong to the toolkit.
    pub fn read(given: impl IntoIterator<Item = String>) -> Self {
        let (mut read, mut given) = (Self::default(), given.into_iter());
        while let Some(argument) = given.next() {
            match argument.as_str() {
                CONNECT => read.connect = given.next(),
                PROGRAM => read.program = given.next(),
                _ => {}
            }
        }
        read
    }

    /// What the window is called.
    pub fn title(&self) -> String {
        self.connect.as_ref().map_or_else(|| "Forge".to_owned(), |host| format!("{host} - Forge"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computer_and_program_are_read_among_other_arguments() {
        let read = |words: &[&str]| Arguments::read(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(read(&["forge://task/1"]), Arguments::default());
        let both = read(&["--display=:1", "--connect", "me@far", "--program", "/opt/forge"]);
        assert_eq!(both.connect.as_deref(), Some("me@far"));
        assert_eq!(both.program.as_deref(), Some("/opt/forge"));
        assert_eq!(
            (both.title().as_str(), Arguments::default().title().as_str()),
            ("me@far - Forge", "Forge")
        );
        assert_eq!(read(&["--connect"]), Arguments::default());
    }
}
