package client

import (
	"regexp"
	"sync"
)

// signs are what agents write when something is wrong that has a remedy.
// They are compiled when one is looked for: few programs ever do.
var signs = sync.OnceValue(func() signTable {
	return signTable{
		lsp:    regexp.MustCompile(`(?i)^content-length:`),
		pretty: regexp.MustCompile(`^"(jsonrpc|id|result|method|error|protocolVersion)"\s*:`),
		html:   regexp.MustCompile(`(?i)^<(!doctype|html|head|body|\?xml)`),
		usage: regexp.MustCompile(`(?im)^\W*usage( of \S+)?:|provided but not defined|` +
			`\b(unknown|unrecognized|unrecognised|invalid|unexpected|no such) (long |short )?(option|flag|argument|command|subcommand)`),
		replay: regexp.MustCompile(`\berrand replay: .*`),
		words: []sign{
			{matching(`npm (warn|notice) exec|will be installed|need to install the following packages`), "its first start installs it: do that beforehand, or give it more time", []ErrorKind{KindStartupTimeout}},
			{matching(`(status|code|error|http)\W{0,3}(429|529)\b|rate.?limit|too many requests|\bquota\b|insufficient_quota|overloaded|usage limit|credit balance|resource.?exhausted`), "the service behind it limits it: wait, or use another model, account or key", nil},
			{matching(`prompt is too long|context.?(length|window)|maximum context|too many tokens`), "what it was given is too much for its model: give it less, or use another model", nil},
			{matching(`(status|code|error|http)\W{0,3}401\b|unauthorized|unauthenticated|not (logged|signed) in|please (log|sign) ?in|(invalid|missing|no|incorrect) (x-)?api.?key|api.?key.{0,20}(missing|invalid|required|not (set|found|valid))|authentication (is )?(failed|required)|requires authentication`), "log in with the agent's own program, or let the variable that holds its key through", nil},
			{matching(`self.signed certificate|certificate (verify|has expired|signed by)|unable to (get|verify).{0,30}certificate|x509:`), "it does not trust a certificate; NODE_EXTRA_CA_CERTS and SSL_CERT_FILE reach it", nil},
			{matching(`\b(enotfound|econnrefused|etimedout|econnreset|eai_again|getaddrinfo)\b|fetch failed|network is unreachable|no such host|connection refused|could not resolve|dial tcp`), "it cannot reach a service: look at the network and the proxy variables", nil},
			{matching(`heap out of memory|out of memory|cannot allocate memory|\benomem\b`), "it ran out of memory", nil},
			{matching(`\benospc\b|no space left`), "the disk is full", nil},
			{matching(`\beaddrinuse\b|address already in use`), "another program has its port: perhaps another one of it", nil},
			{matching(`cannot find (module|package)|module_not_found|modulenotfounderror|no module named|error while loading shared libraries|library not loaded`), "its installation is incomplete: install it again", []ErrorKind{KindExit}},
			{matching(`ebadengine|unsupported engine|requires (a newer )?node|version .?glibc_|syntaxerror: unexpected`), "what runs it (Node, the system) may be too old for it", []ErrorKind{KindExit}},
			{matching(`command not found|: not found\b|spawn \S+ enoent`), "a command that it starts is not installed, or not in its PATH", []ErrorKind{KindExit}},
			{matching(`\b(eacces|eperm|erofs)\b|permission denied|read-only file system`), "it may not use a file that it needs", []ErrorKind{KindExit}},
			{matching(`\bterminal/(create|output|wait_for_exit|kill|release)|\bfs/(read|write)_text_file`), "it wants a terminal or files of its client, which Errand does not offer; it may have a setting to use its own", []ErrorKind{KindAgent}},
		},
	}
})

type signTable struct {
	lsp, pretty, html, usage *regexp.Regexp
	replay                   *regexp.Regexp // our own, which quotes what was said and is none
	words                    []sign         // the first that fits is taken
}

// sign is what an agent writes in one kind of trouble, and what can be done about it.
type sign struct {
	words  *regexp.Regexp
	advice string
	kinds  []ErrorKind // nil: any
}

func matching(words string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + words) }
