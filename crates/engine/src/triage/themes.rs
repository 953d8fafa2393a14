//! Imports by theme: what the functions of other files that a program takes are for.

/// A theme, and how names of its functions begin, in any case.
const THEMES: &[(&str, &[&str])] = &[
    (
        "network",
        &[
            "socket",
            "connect",
            "accept",
            "bind",
            "listen",
            "recv",
            "send",
            "getaddrinfo",
            "gethostby",
            "inet_",
            "wsa",
            "internet",
            "http",
            "winhttp",
            "urldownload",
            "curl_",
            "ssl_",
            "dnsquery",
        ],
    ),
    (
        "process",
        &[
            "fork",
            "vfork",
            "exec",
            "system",
            "popen",
            "posix_spawn",
            "waitpid",
            "kill",
            "createprocess",
            "openprocess",
            "terminateprocess",
            "shellexecute",
            "winexec",
            "createtoolhelp32",
        ],
    ),
    (
        "code_injection",
        &[
            "ptrace",
            "process_vm_",
            "writeprocessmemory",
            "readprocessmemory",
            "createremotethread",
            "virtualallocex",
            "queueuserapc",
            "setwindowshook",
            "ntmapviewofsection",
        ],
    ),
    (
        "anti_debug",
        &[
            "isdebuggerpresent",
            "checkremotedebugger",
            "outputdebugstring",
            "ntqueryinformationprocess",
        ],
    ),
    (
        "memory",
        &[
            "mmap",
            "mprotect",
            "munmap",
            "memfd_create",
            "virtualalloc",
            "virtualprotect",
            "heapcreate",
        ],
    ),
    ("dynamic_loading", &["dlopen", "dlsym", "loadlibrary", "getprocaddress", "ldrload"]),
    (
        "crypto",
        &[
            "evp_",
            "aes_",
            "des_",
            "rsa_",
            "sha1",
            "sha256",
            "sha512",
            "md5",
            "hmac",
            "crypt",
            "bcrypt",
            "ncrypt",
            "rand_bytes",
        ],
    ),
    (
        "registry",
        &[
            "regopen",
            "regset",
            "regquery",
            "regcreate",
            "regdelete",
            "regenum",
            "regclose",
            "regget",
        ],
    ),
    (
        "files",
        &[
            "open",
            "fopen",
            "creat",
            "read",
            "write",
            "unlink",
            "rename",
            "remove",
            "mkdir",
            "opendir",
            "readdir",
            "stat",
            "fstat",
            "lstat",
            "createfile",
            "readfile",
            "writefile",
            "deletefile",
            "movefile",
            "copyfile",
            "findfirstfile",
            "findnextfile",
            "gettemppath",
        ],
    ),
    (
        "threads",
        &["pthread_", "createthread", "createmutex", "waitforsingleobject", "entercriticalsection"],
    ),
    (
        "unbounded_copies",
        &[
            "strcpy", "strcat", "sprintf", "vsprintf", "gets", "scanf", "sscanf", "lstrcpy",
            "lstrcat", "wcscpy", "wcscat",
        ],
    ),
    (
        "privileges",
        &[
            "setuid",
            "setgid",
            "seteuid",
            "setreuid",
            "chroot",
            "adjusttokenprivileges",
            "openprocesstoken",
            "logonuser",
        ],
    ),
];

/// What variants of a word of C add to it.
const VARIANTS: &[&str] = &[
    "64", "at", "at64", "from", "to", "msg", "all", "a", "w", "exa", "exw", "ve", "vp", "v", "l",
    "lp", "le", "vpe",
];

/// The names of all themes.
pub fn themes() -> impl Iterator<Item = &'static str> {
    THEMES.iter().map(|(theme, _)| *theme)
}

/// The theme of an imported function, by its name.
#[must_use]
pub fn theme_of(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('_').to_ascii_lowercase();
    let name = name.strip_prefix("isoc99_").unwrap_or(&name);
    let found = THEMES.iter().find(|(theme, starts)| match *theme {
        // Short words of C begin many other names.
        "files" | "network" | "process" => starts.iter().any(|start| fits(name, start)),
        _ => starts.iter().any(|start| name.starts_with(start)),
    });
    found.map(|(theme, _)| *theme)
}

/// Whether a name is a word, or the word with what variants of it add.
fn fits(name: &str, word: &str) -> bool {
    match name.strip_prefix(word) {
        Some("") => true,
        Some(rest) => {
            let is_family =
                word.len() > 6 || word.ends_with('_') || ["wsa", "http"].contains(&word);
            is_family || VARIANTS.contains(&rest)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_theme_of_what_they_do() {
        for (name, theme) in [
            ("socket", Some("network")),
            ("recvfrom", Some("network")),
            ("WSAStartup", Some("network")),
            ("execve", Some("process")),
            ("CreateProcessW", Some("process")),
            ("VirtualAllocEx", Some("code_injection")),
            ("VirtualAlloc", Some("memory")),
            ("RegOpenKeyExA", Some("registry")),
            ("register_tm_clones", None),
            ("openat64", Some("files")),
            ("opendir", Some("files")),
            ("openlog", None),
            ("__isoc99_sscanf", Some("unbounded_copies")),
            ("strlen", None),
            ("pthread_create", Some("threads")),
        ] {
            assert_eq!(theme_of(name), theme, "{name}");
        }
        assert_eq!(themes().count(), THEMES.len());
    }
}
