//! What keeps Kubernetes from being used: each fault in one sentence, with what a person can do about it.

use crate::steps::StepName;

/// The longest that is told of what Kubernetes said, in characters.
const LONGEST: usize = 300;

/// Why Kubernetes cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubernetesFault {
    /// `kubectl` is missing.
    #[error("Could not find `kubectl` on this computer.")]
    NoProgram,
    /// `kubectl` refuses its configuration.
    #[error("Could not use the configuration of kubectl: {said}.")]
    Configuration {
        /// What it said.
        said: String,
    },
    /// The API server does not answer. It says nothing of Jobs.
    #[error("Could not reach the API server of Kubernetes: {said}.")]
    Server {
        /// What was said.
        said: String,
    },
    /// The API server does not accept who asks. It says nothing of Jobs.
    #[error("Could not sign in to Kubernetes: {said}.")]
    SignIn {
        /// What was said.
        said: String,
    },
    /// The user lacks a right.
    #[error("Could not use Kubernetes: it forbids this ({said}).")]
    Forbidden {
        /// What it said.
        said: String,
    },
    /// Kubernetes refuses the Job.
    #[error("Could not create a Job: Kubernetes refuses it ({said}).")]
    Refused {
        /// What it said.
        said: String,
    },
}

impl KubernetesFault {
    /// What is wrong with `kubectl`, its configuration, the server or the user's rights, by what was printed as errors;
    /// none where nothing of these is.
    pub(crate) fn of(errors: &str) -> Option<Self> {
        let said = last_said(errors);
        let has = |texts: &[&str]| texts.iter().any(|text| said.contains(text));
        if has(&["Unauthorized", "must be logged in", "getting credentials", "provide credentials"]) {
            let said = match said.contains("Unauthorized") || said.contains("must be logged in") {
                true => "the sign-in has expired, or is not accepted".to_owned(),
                false => said,
            };
            return Some(Self::SignIn { said });
        }
        // A quota is told as a right that is missing.
        if has(&["(Forbidden)", "is forbidden"])
            && !has(&["exceeded quota", "limits.", "violates PodSecurity"])
        {
            return Some(Self::Forbidden { said });
        }
        let configuration = [
            "no context exists",
            "context was not found",
            "no configuration has been provided",
            "error loading config",
            "no such file or directory",
            "invalid configuration",
        ];
        if has(&configuration) || said.starts_with("context \"") && said.ends_with("does not exist") {
            return Some(Self::Configuration { said });
        }
        let server = [
            "onnection refused",
            "was refused",
            "onnection reset",
            "Unable to connect to the server",
            "Client.Timeout",
            "deadline exceeded",
            "i/o timeout",
            "TLS handshake",
            "no such host",
            "no route to host",
            "network is unreachable",
            "x509:",
            "unexpected EOF",
            "(InternalError)",
            "(ServiceUnavailable)",
            "(Timeout)",
            "(TooManyRequests)",
            "was unable to return a response",
            "currently unable to handle the request",
            "has prevented the request from succeeding",
        ];
        has(&server).then(|| Self::Server { said: without_server(&said) })
    }

    /// The same where something must be wrong: what is not known is one of the server.
    pub(crate) fn of_any(errors: &str) -> Self {
        Self::of(errors).unwrap_or_else(|| Self::Server { said: without_server(&last_said(errors)) })
    }

    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoProgram => "Install `kubectl` on this computer.",
            Self::Configuration { .. } => {
                "Correct the context or the configuration file of the machine, or the configuration of kubectl."
            }
            Self::Server { .. } => {
                "Check that `kubectl get jobs` works on this computer. Jobs go on while the server cannot be reached, and \
                 so do their tasks when it can be."
            }
            Self::SignIn { .. } => {
                "Sign in again as you do for `kubectl`, and check that `kubectl get jobs` works on this computer. Jobs go \
                 on meanwhile."
            }
            Self::Forbidden { .. } => {
                "Ask for the rights to create, get, list and delete Jobs, to get, list and delete pods, to list events, \
                 and to create `pods/exec`, in the namespace."
            }
            Self::Refused { .. } => {
                "Correct the machine's namespace, image, service account, resources or tolerations by what was said."
            }
        }
        .to_owned()
    }

    /// Whether time alone may mend it. A sign-in is renewed outside of Forge, which nobody tells.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self, Self::Server { .. } | Self::SignIn { .. })
    }

    /// Which step of a test it ends.
    pub(crate) const fn step(&self) -> StepName {
        match self {
            Self::NoProgram
            | Self::Configuration { .. }
            | Self::Server { .. }
            | Self::SignIn { .. }
            | Self::Forbidden { .. } => StepName::Kubernetes,
            Self::Refused { .. } => StepName::Job,
        }
    }
}

/// The last line that says something, without what every error begins with and without advice.
pub(crate) fn last_said(errors: &str) -> String {
    let line = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line = line.unwrap_or("no reason was given");
    let line = ["error: ", "Error from server: "]
        .iter()
        .fold(line, |line, prefix| line.strip_prefix(prefix).unwrap_or(line));
    let line = line.split(" - did you specify").next().unwrap_or(line);
    short(line)
}

/// One line of at most some length, which ends without a full stop.
pub(crate) fn short(message: &str) -> String {
    let line: Vec<&str> = message.split_whitespace().collect();
    let line = line.join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Without that it is the server that is not reached, which the sentence says.
fn without_server(said: &str) -> String {
    let said = said.strip_prefix("Unable to connect to the server: ").unwrap_or(said);
    let said = said.strip_prefix("Error from server ").unwrap_or(said);
    match said.strip_prefix("The connection to the server ") {
        Some(rest) => format!("the connection to {rest}"),
        None => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubectl_says_is_told_by_its_kind() {
        type Of = fn(&KubernetesFault) -> bool;
        let server: Of = |fault| matches!(fault, KubernetesFault::Server { .. });
        let sign_in: Of = |fault| matches!(fault, KubernetesFault::SignIn { .. });
        let forbidden: Of = |fault| matches!(fault, KubernetesFault::Forbidden { .. });
        let configuration: Of = |fault| matches!(fault, KubernetesFault::Configuration { .. });
        for (said, is, told) in [
            (
                "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n",
                server,
                "Could not reach the API server of Kubernetes: the connection to 127.0.0.1:1 was refused.",
            ),
            (
                "E1128 memcache.go:265] couldn't get current server API group list\nUnable to connect to the server: net/http: request canceled (Client.Timeout exceeded while awaiting headers)\n",
                server,
                "Could not reach the API server of Kubernetes: net/http: request canceled (Client.Timeout exceeded while awaiting headers).",
            ),
            (
                "Unable to connect to the server: x509: certificate signed by unknown authority\n",
                server,
                "Could not reach the API server of Kubernetes: x509: certificate signed by unknown authority.",
            ),
            (
                "error: You must be logged in to the server (Unauthorized)\n",
                sign_in,
                "Could not sign in to Kubernetes: the sign-in has expired, or is not accepted.",
            ),
            (
                "Unable to connect to the server: getting credentials: exec: executable cloud-plugin not found\n",
                sign_in,
                "Could not sign in to Kubernetes: Unable to connect to the server: getting credentials: exec: executable cloud-plugin not found.",
            ),
            (
                "Error from server (Forbidden): jobs.batch is forbidden: User \"me\" cannot list resource \"jobs\"\n",
                forbidden,
                "Could not use Kubernetes: it forbids this (Error from server (Forbidden): jobs.batch is forbidden: User \"me\" cannot list resource \"jobs\").",
            ),
            (
                "error: context \"far\" does not exist\n",
                configuration,
                "Could not use the configuration of kubectl: context \"far\" does not exist.",
            ),
            (
                "error: stat /nowhere: no such file or directory\n",
                configuration,
                "Could not use the configuration of kubectl: stat /nowhere: no such file or directory.",
            ),
        ] {
            let fault = KubernetesFault::of(said).unwrap();
            assert!(is(&fault), "{said}: {fault:?}");
            assert_eq!(fault.to_string(), told);
            assert!(fault.remedy().ends_with('.'));
        }
        let quota = "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch \"x\" is forbidden: exceeded quota: few";
        assert_eq!(KubernetesFault::of(quota), None, "it is the Job that is refused");
        assert_eq!(KubernetesFault::of("command terminated with exit code 3"), None);
    }
}
