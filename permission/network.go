package permission

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*:[/\\]{2}[^\s"'<>|]*`)
	// user@host:path, host.example:path as git, scp and rsync have it.
	remote   = regexp.MustCompile(`^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|\d+(?:\.\d+){3}):[^/\\]?`)
	bareHost = regexp.MustCompile(`^(?:[^@/]+@)?\[?([\w-]+(?:\.[\w-]+)+|localhost|[0-9A-Fa-f:]*:[0-9A-Fa-f:]+)\]?(?::\d+)?(?:[/?#].*)?$`)
)

// callers are programs whose plain arguments are hosts.
var callers = words("curl wget http https xh nc ncat netcat telnet ssh scp sftp rsync ftp ping dig nslookup host whois mosh socat openssl")

// urlHosts returns the hosts of the URLs in s, but for those of files. Where s is under
// a key for hosts it is one if it has no scheme, too.
func urlHosts(s string, isHost bool) []Host {
	var out []Host
	for _, u := range schemes(s) {
		if !isFile(u) {
			out = append(out, Host{Name: hostOf(u), Told: u})
		}
	}
	if trimmed := strings.TrimSpace(s); len(out) == 0 && isHost && trimmed != "" && !isFile(trimmed) {
		out = append(out, Host{Name: hostOf("//" + trimmed), Told: s})
	}
	return out
}

// schemes returns the URLs in s. Most texts hold no colon, and the search is slow.
func schemes(s string) []string {
	if !strings.Contains(s, ":") {
		return nil
	}
	return scheme.FindAllString(s, maxFindings)
}

func isFile(u string) bool { return len(u) >= 5 && strings.EqualFold(u[:5], "file:") }

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
		found := schemes(word)
		for _, u := range found {
			if !isFile(u) {
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
