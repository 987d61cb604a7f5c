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
        // Quotas and policies are told as rights that are missing, too: a right that is has its verb said.
        if is_forbidden(&said) {
            let names_a_right = said.contains(" cannot ")
                && has(&[" resource \"", " path \""])
                && !said.contains("denied the request");
            return names_a_right.then_some(Self::Forbidden { said });
        }
        let configuration = [
            "no context exists",
            "context was not found",
            "no configuration has been provided",
            "error loading config",
            "current-context is not set",
            "current-context must exist",
            "cannot locate context",
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
        Self::of(errors).unwrap_or_else(|| {
            let said = last_said(errors);
            match is_forbidden(&said) {
                true => Self::Forbidden { said },
                false => Self::Server { said: without_server(&said) },
            }
        })
    }

    /// Why a Job was not created. Only a server that says that it refuses the Job has refused it.
    pub(crate) fn of_create(errors: &str) -> Self {
        let refuses = [
            "(Invalid)",
            "is invalid",
            "(Forbidden)",
            "is forbidden",
            "(NotFound)",
            "(BadRequest)",
            "(MethodNotAllowed)",
            "denied the request",
            "strict decoding",
            "error validating",
        ];
        match Self::of(errors) {
            Some(fault) => fault,
            None if refuses.iter().any(|text| errors.contains(text)) => {
                Self::Refused { said: refusal(errors) }
            }
            None => Self::of_any(errors),
        }
    }

    /// Jobs were created on another server than the one that is asked now.
    pub(crate) fn elsewhere(created_on: &str, now: &str) -> Self {
        Self::Configuration {
            said: format!("it leads to {now} now, and the Job was created on {created_on}"),
        }
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

    /// Whether it is mended outside of Forge, by a person or by a program that signs in: the configuration of `kubectl`, and
    /// rights in the cluster.
    pub(crate) const fn is_mended_outside(&self) -> bool {
        matches!(self, Self::Configuration { .. } | Self::Forbidden { .. })
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

fn is_forbidden(said: &str) -> bool {
    said.contains("(Forbidden)") || said.contains("is forbidden")
}

/// What was said of a Job that is beyond a quota.
pub(crate) fn beyond_quota(errors: &str) -> Option<String> {
    errors.contains("exceeded quota").then(|| refusal(errors))
}

/// What is wrong with the node of a pod, or with its container, where the server says that: it answers itself.
pub(crate) fn of_node(errors: &str) -> Option<String> {
    let said = last_said(errors);
    if said.contains("error dialing backend") {
        return Some("its node does not answer".to_owned());
    }
    let of_node = ["unable to upgrade connection", "error executing command in container"];
    of_node.iter().any(|text| said.contains(text)).then_some(said)
}

/// What the server said of a Job that it refuses. Each field that is not valid may be on a line of its own.
fn refusal(errors: &str) -> String {
    let lines = errors.lines().map(str::trim).filter(|line| !line.starts_with("Warning: "));
    let said = short(&lines.collect::<Vec<_>>().join(" "));
    let said = said.split_once("error when creating \"STDIN\": ").map_or(said.as_str(), |(_, rest)| rest);
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let said = said.strip_prefix("Error from server ").unwrap_or(said);
    said.to_owned()
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

    #[test]
    fn only_what_the_server_says_of_the_job_is_a_refusal() {
        type Of = fn(&KubernetesFault) -> bool;
        let server: Of = |fault| matches!(fault, KubernetesFault::Server { .. });
        let forbidden: Of = |fault| matches!(fault, KubernetesFault::Forbidden { .. });
        let refused: Of = |fault| matches!(fault, KubernetesFault::Refused { .. });
        for (said, is) in [
            ("Error from server: etcdserver: request timed out\n", server),
            ("Error from server: etcdserver: leader changed\n", server),
            ("Error from server: rpc error: code = Unavailable desc = transport is closing\n", server),
            ("error: http2: client connection lost\n", server),
            ("error: EOF\n", server),
            (
                "Error from server (InternalError): error when creating \"STDIN\": Internal error occurred: failed calling webhook \"x\"\n",
                server,
            ),
            (
                "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch is forbidden: User \"me\" cannot create resource \"jobs\" in API group \"batch\" in the namespace \"agents\"\n",
                forbidden,
            ),
            (
                "Error from server (Forbidden): error when creating \"STDIN\": admission webhook \"validation.gatekeeper.sh\" denied the request: no limits\n",
                refused,
            ),
            (
                "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch \"x\" is forbidden: unable to create new content in namespace agents because it is being terminated\n",
                refused,
            ),
            ("Error from server (NotFound): namespaces \"nowhere\" not found\n", refused),
            ("The Job \"x\" is invalid: spec.a: Required value\n", refused),
        ] {
            let fault = KubernetesFault::of_create(said);
            assert!(is(&fault), "{said}: {fault:?}");
        }
        let quota = "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch \"x\" is forbidden: exceeded quota: few\n";
        assert_eq!(
            beyond_quota(quota).as_deref(),
            Some("jobs.batch \"x\" is forbidden: exceeded quota: few")
        );
        assert_eq!(beyond_quota("Error from server: etcdserver: leader changed\n"), None);
        let listed = "Error from server (Forbidden): jobs.batch is forbidden: a policy\n";
        assert!(forbidden(&KubernetesFault::of_any(listed)));
    }

    #[test]
    fn refusal_is_told_without_what_every_one_begins_with() {
        let said = "Warning: x is deprecated\nThe Job \"x\" is invalid: \n* spec.a: Required value\n* spec.b: Invalid value\n";
        assert_eq!(
            refusal(said),
            "The Job \"x\" is invalid: * spec.a: Required value * spec.b: Invalid value"
        );
        let said = "Error from server (NotFound): namespaces \"nowhere\" not found\n";
        assert_eq!(refusal(said), "(NotFound): namespaces \"nowhere\" not found");
    }

    #[test]
    fn node_that_does_not_answer_is_not_the_server() {
        for said in [
            "Error from server: error dialing backend: dial tcp 10.0.0.7:10250: connect: connection refused\n",
            "error: error dialing backend: dial tcp 10.0.0.7:10250: i/o timeout\n",
            "Error from server: error dialing backend: dial tcp 10.0.0.7:10250: connect: no route to host\n",
        ] {
            assert_eq!(of_node(said).as_deref(), Some("its node does not answer"), "{said}");
        }
        let container = "Error from server (InternalError): Internal error occurred: error executing command in container: no task\n";
        assert!(of_node(container).is_some_and(|said| said.ends_with("in container: no task")));
        assert!(of_node("error: unable to upgrade connection: container not found (\"forge\")\n").is_some());
        assert_eq!(of_node("The connection to the server 127.0.0.1:1 was refused\n"), None);
    }
}
