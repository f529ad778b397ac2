package permission

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>|]*`)
	// user@host:path, host.example:path as git, scp and rsync have it.
	remote   = regexp.MustCompile(`^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|\d+(?:\.\d+){3}):[^/\\]?`)
	bareHost = regexp.MustCompile(`^(?:[^@/]+@)?\[?([\w-]+(?:\.[\w-]+)+|localhost|[0-9A-Fa-f:]*:[0-9A-Fa-f:]+)\]?(?::\d+)?(?:[/?#].*)?$`)
)

// callers are programs whose plain arguments are hosts.
var callers = words("curl wget http https xh nc ncat netcat telnet ssh scp sftp rsync ftp ping dig nslookup host whois mosh socat openssl")

// urlHost returns the host of a string that is a URL, but of no file.
func urlHost(s string) (Host, bool) {
	s = strings.TrimSpace(s)
	at := scheme.FindStringIndex(s)
	if at == nil || at[0] != 0 {
		return Host{}, false
	}
	return Host{Name: hostOf(s), Told: s}, true
}

// hostOf returns the host that every reader of the URL would call; empty where they
// may differ, as about a backslash.
func hostOf(s string) string {
	if strings.ContainsAny(s, "\\\t\r\n") || strings.ContainsFunc(s, invisible) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// hosts returns the network targets in a command.
func (c Command) hosts() []Host {
	var out []Host
	add := func(name, told string) {
		if h := (Host{Name: strings.ToLower(strings.TrimSuffix(name, ".")), Told: told, Command: true}); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	calls := false
	for _, word := range c.words() {
		found := scheme.FindAllString(word, -1)
		for _, u := range found {
			if !strings.HasPrefix(strings.ToLower(u), "file:") {
				add(hostOf(u), u)
			}
		}
		if len(found) > 0 {
			continue
		}
		if callers[programName(word)] {
			calls = true
			continue
		}
		if m := remote.FindStringSubmatch(word); m != nil {
			add(m[1], word)
		} else if m := bareHost.FindStringSubmatch(word); m != nil && calls && !strings.HasPrefix(word, "-") {
			add(m[1], word)
		}
	}
	return out
}
