package envscrub

import (
	"slices"
	"strings"
)

// Variables that are known by their whole name. Names here are in upper case and are
// compared without case: a proxy is http_proxy to some and HTTP_PROXY to others.

// hostNames mark a session of an agent that we run in. A nested agent of the same
// make refuses to start, takes itself for the child of that session, or attaches to
// that session's editor. The last line is Node's: a Node program that is told of a
// channel it was not given dies at its start.
var hostNames = list(`
	CLAUDECODE CLAUDE_CODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_ID
	CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_PARENT_SESSION_ID CLAUDE_CODE_EXECPATH CLAUDE_CODE_MESSAGING_*
	CLAUDE_CODE_REMOTE CLAUDE_CODE_REMOTE_* CLAUDE_CODE_IS_COWORK CLAUDE_AGENT_SDK_VERSION CLAUDE_PID
	CLAUDE_SESSION_ID ENABLE_IDE_INTEGRATION
	GEMINI_CLI GEMINI_SESSION_ID GEMINI_CLI_IDE_* GEMINI_CLI_NO_RELAUNCH
	CODEX_SANDBOX CODEX_SANDBOX_* CODEX_THREAD_ID CODEX_SESSION_ID CODEX_CI CODEX_MANAGED_BY_*
	CODEX_INTERNAL_ORIGINATOR_OVERRIDE
	QWEN_CODE QWEN_CODE_IDE_* QWEN_CODE_NO_RELAUNCH QWEN_SESSION_ID
	OPENCODE OPENCODE_PID OPENCODE_CLIENT OPENCODE_SESSION_ID OPENCODE_RUN_ID OPENCODE_PROCESS_ROLE
	CURSOR_AGENT CURSOR_SANDBOX CURSOR_INVOKED_AS CURSOR_EXTENSION_HOST_ROLE
	COPILOT_CLI COPILOT_AGENT COPILOT_AGENT_SESSION_ID COPILOT_LOADER_PID COPILOT_RUN_APP COPILOT_SUPERVISED
	COPILOT_DETACHED_* COPILOT_CLI_BINARY_VERSION COPILOT_CLI_RESOLVED_DIST_DIR
	CLINE_ACTIVE ROO_ACTIVE KILO_ACTIVE AUGMENT_AGENT ANTIGRAVITY_AGENT ANTIGRAVITY_CLI_ALIAS
	GOOSE_TERMINAL AMP_CURRENT_THREAD_ID AMP_THREAD_ID TRAE_AI_SHELL_ID IFLOW_CLI PI_CODING_AGENT
	GROK_PLUGIN_ROOT GROK_PLUGIN_DATA KIMI_PLUGIN_ROOT JUNIE_DATA JUNIE_SHIM_PATH OPENCLAW_SHELL
	NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE NODE_UNIQUE_ID
`)

// loaderNames make a program load a library or run code before its own. Search paths
// (LD_LIBRARY_PATH, PYTHONPATH, NODE_PATH, PERL5LIB) are not among them: programs that
// are installed off the beaten track need theirs to start.
var loaderNames = list(`
	LD_PRELOAD LD_PRELOAD_* LD_AUDIT LD_AUDIT_* DYLD_* GCONV_PATH
	NODE_OPTIONS NODE_REPL_EXTERNAL_MODULE BUN_OPTIONS VSCODE_INSPECTOR_OPTIONS
	BASH_ENV PYTHONSTARTUP PERL5OPT PERL5DB RUBYOPT LUA_INIT LUA_INIT_*
	DOTNET_STARTUP_HOOKS CORECLR_ENABLE_PROFILING CORECLR_PROFILER CORECLR_PROFILER_*
	COR_ENABLE_PROFILING COR_PROFILER COR_PROFILER_*
`)

// javaNames hold options for every JVM: its memory as often as code to load.
var (
	javaNames = list(`JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS`)
	javaPlain = strings.Fields(`-Xm -Xs -XX:+ -XX:- -XX:Max -XX:Min -XX:Initial -Dfile. -Duser. -Dhttp -Djava.net. -Djava.awt.headless=`)
)

// isLoader reports whether a variable makes programs load or run code. ENV is POSIX
// sh's startup file only where it holds a path: to most people it says "production".
func isLoader(name, value string) bool {
	switch {
	case name == "ENV":
		return isPath(value)
	case javaNames.match(name):
		for option := range strings.FieldsSeq(value) {
			if !slices.ContainsFunc(javaPlain, func(p string) bool { return strings.HasPrefix(option, p) }) {
				return true
			}
		}
		return false
	}
	return loaderNames.match(name)
}

// fileNames hold the path of a file that is there to hold credentials.
var fileNames = list(`
	NETRC BOTO_CONFIG DOCKER_CONFIG RCLONE_CONFIG TALOSCONFIG MYSQL_TEST_LOGIN_FILE
	KRB5CCNAME KRB5_KTNAME KRB5_CLIENT_KTNAME X509_USER_PROXY
	AZURE_CLIENT_CERTIFICATE_PATH ARM_CLIENT_CERTIFICATE_PATH
`)

// socketNames lead to a process that signs or answers with credentials it keeps. An
// editor's handle answers git's questions for a password.
var socketNames = list(`SSH_AUTH_SOCK GPG_AGENT_INFO GNOME_KEYRING_CONTROL VSCODE_GIT_IPC_HANDLE`)

// knownNames hold a credential, and no word in them says so. BUNDLE_…__COM is Bundler's
// user:password for a host, with the host's dots as double underscores.
var knownNames = list(`
	OP_SESSION_* BW_SESSION FASTLANE_SESSION AOC_SESSION CSC_LINK WIN_CSC_LINK UNITY_LICENSE UNITY_SERIAL
	SONAR_LOGIN IDENTITY_HEADER REPL_IDENTITY WEB_REPL_RENEWAL VSS_NUGET_EXTERNAL_FEED_ENDPOINTS
	ENDPOINT_AUTH_PARAMETER_* ENDPOINT_AUTH_SYSTEM* SECUREFILE_TICKET_* ACTIONS_ID_TOKEN_REQUEST_URL
	AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_CREDENTIALS_FULL_URI
	OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_*_HEADERS
	BUNDLE_*__COM BUNDLE_*__ORG BUNDLE_*__NET BUNDLE_*__IO BUNDLE_*__DEV
`)

// harmlessNames hold no credential, and a word in them says otherwise.
var harmlessNames = list(`PWD OLDPWD XAUTH GOAUTH PGREQUIREAUTH
	STARSHIP_SESSION_KEY ATUIN_SESSION __MISE_SESSION
	NPM_PACKAGE_DEPENDENCIES_* NPM_PACKAGE_DEVDEPENDENCIES_* NPM_PACKAGE_PEERDEPENDENCIES_* NPM_PACKAGE_SCRIPTS_* NPM_PACKAGE_BIN_*
`)

// strictNames are all that passes in Strict mode.
var strictNames = list(`
	PATH HOME USER LOGNAME SHELL PWD TERM COLORTERM NO_COLOR
	LANG LANGUAGE LC_* TZ TZDIR TMPDIR TMP TEMP
	XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR XDG_CONFIG_DIRS XDG_DATA_DIRS
	HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
	SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE GIT_SSL_CAINFO
	ERRAND_RUN
	ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432 COMPUTERNAME COMSPEC
	HOMEDRIVE HOMEPATH LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA
	PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 PUBLIC SYSTEMDRIVE SYSTEMROOT USERDOMAIN USERNAME USERPROFILE WINDIR
`)

// names is a set of names; some end in or hold a "*", which stands for anything.
type names struct {
	whole map[string]bool
	globs [][2]string // what stands before and after the "*"
}

func list(text string) names {
	n := names{whole: map[string]bool{}}
	for _, name := range strings.Fields(text) {
		if before, after, glob := strings.Cut(name, "*"); glob {
			n.globs = append(n.globs, [2]string{before, after})
		} else {
			n.whole[name] = true
		}
	}
	return n
}

// match reports whether the set has the name, which is in upper case.
func (n names) match(name string) bool {
	if n.whole[name] {
		return true
	}
	for _, g := range n.globs {
		if len(name) > len(g[0])+len(g[1]) && strings.HasPrefix(name, g[0]) && strings.HasSuffix(name, g[1]) {
			return true
		}
	}
	return false
}
