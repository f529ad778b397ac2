package permission

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// A browser reads https:/host and https:host as https://host.
	scheme = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*:[/\\]{2}[^\s"'<>|]*|\b(?:https?|wss?|ftp):[^\s"'<>|]+`)
	// user@host:path, host.example:path as git, scp and rsync have it.
	remote   = regexp.MustCompile(`^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|\d+(?:\.\d+){3}):[^/\\]?`)
	bareHost = regexp.MustCompile(`^(?:[^@/]+@)?\[?([\w-]+(?:\.[\w-]+)+|localhost|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]+)\]?(?::\d+)?(?:[/?#].*)?$`)
	number   = regexp.MustCompile(`^(?:0[xX][0-9a-fA-F]*|[0-9]+)$`)
)

// callers are programs whose plain arguments are hosts, where they look so.
var callers = words(`curl wget http https xh nc ncat netcat telnet ssh scp sftp rsync ftp ping dig nslookup host whois mosh socat openssl
	docker podman skopeo crane oras buildah nerdctl lynx w3m links elinks aria2c axel httpie ssh-keyscan`)

// A fetcher is a caller whose every plain argument is a host or a URL, but for the values of
// flags that are none: those of one letter, and others.
type fetcher struct {
	letters string
	flags   map[string]bool
}

var fetchers = map[string]fetcher{
	"curl": {"AbcCdDeEFHKmoPQrtTuUwxXyYz", words(`--request --header --user-agent --referer --max-time --user --cookie --write-out --range --connect-timeout
		--retry --retry-delay --retry-max-time --max-redirs --max-filesize --limit-rate --cacert --cert --key --oauth2-bearer --url-query
		--keepalive-time --speed-limit --speed-time --tls-max --ciphers --proto --proto-redir`)},
	"wget": {"aoOPietTwQUBDARXIl", words("--tries --timeout --wait --user-agent --header --quota --limit-rate --user --password --level --referer --method")},
	"ping": {letters: "cFiIlmMpQsStTwW"},
	"nc":   {letters: "eciIpwXqWmoO"}, "ncat": {letters: "ecipwmo"}, "netcat": {letters: "eciIpwXqWmoO"}, "telnet": {letters: "belnSX"}, "ftp": {},
}

// takes reports whether the word behind the flag is its value, and no host.
func (f fetcher) takes(flag string) bool {
	if strings.HasPrefix(flag, "--") {
		return f.flags[flag]
	}
	i := strings.IndexAny(flag, f.letters) // of a bundle, the first one has the rest
	return i > 0 && i == len(flag)-1
}

// urlHosts returns the hosts of the URLs in s, but for those of files. Where s is under
// a key for hosts it is one if it has no scheme, too.
func urlHosts(s string, isHost bool) []Host {
	var out []Host
	for _, u := range schemes(s) {
		if !isFile(u) {
			out = append(out, Host{Name: hostOf(u), Told: u})
		}
	}
	if s = strings.TrimSpace(s); isHost && s != "" && !isFile(s) && (len(out) == 0 || !strings.HasPrefix(s, out[0].Told)) {
		out = append(out, Host{Name: hostOf("//" + s), Told: s})
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
// may differ, as about a backslash or a single slash.
func hostOf(s string) string {
	if strings.ContainsAny(s, "\\\t\r\n") || strings.ContainsFunc(s, invisible) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return ""
	}
	return hostName(u.Hostname())
}

// hostName returns the one spelling of a host's name or address; empty where readers differ
// about it: characters that some of them change, and numbers that are an address for some.
func hostName(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if addr, err := netip.ParseAddr(name); err == nil && addr.Zone() == "" {
		return addr.Unmap().String()
	}
	labels := strings.Split(name, ".")
	if slices.Contains(labels, "") || number.MatchString(labels[len(labels)-1]) ||
		strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_", r) }) {
		return ""
	}
	return name
}

// hosts returns the network targets in a command.
func (c Command) hosts() []Host {
	var out []Host
	add := func(name, told string) {
		if h := (Host{Name: name, Told: told, Command: true}); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	calls, isFetcher := false, false
	var by fetcher
	value := false // the word is that of a flag
	for i, word := range c.words() {
		plain := !value && !strings.HasPrefix(word, "-")
		value = !plain && isFetcher && by.takes(word)
		found := schemes(word)
		for _, u := range found {
			if !isFile(u) && (calls || strings.Contains(strings.ReplaceAll(u, `\`, "/"), "://")) {
				add(hostOf(u), u)
			}
		}
		if len(found) > 0 {
			continue
		}
		if name := programName(word); callers[name] {
			if calls = true; i == 0 {
				by, isFetcher = fetchers[name]
			}
			continue
		}
		if url, ok := strings.CutPrefix(word, "--url="); ok && calls {
			word, plain = url, true
		}
		start := word[:min(len(word), maxPath)] // no host ends behind it
		remotely, bare := remote.FindStringSubmatch(start), bareHost.FindStringSubmatch(start)
		switch port, err := strconv.ParseUint(word, 10, 16); {
		case err == nil && port > 0 && word[0] != '0': // or a number of something
		case isFetcher && plain && i < len(c.Argv):
			add(hostOf("//"+word), word)
		case remotely != nil:
			add(strings.ToLower(remotely[1]), word)
		case bare != nil && calls && plain:
			if name := hostName(bare[1]); name != "" || all(strings.Split(bare[1], "."), number.MatchString) {
				add(name, word)
			}
		}
	}
	return out
}

// hostMatches reports whether a rule's host is the one of that name.
func hostMatches(pattern, name string) bool {
	pattern = strings.ToLower(pattern)
	if pattern == "*" {
		return true
	}
	if domain, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(name, "."+domain)
	}
	return name == pattern || name != "" && name == hostName(strings.Trim(pattern, "[]"))
}

// hostTouched reports whether the call may reach a host of the rule: one that it names, one
// that nobody can read, or one that stands anywhere in a command that calls hosts or runs
// others.
func (f *Facts) hostTouched(r *Rule) bool {
	return slices.ContainsFunc(r.Hosts, func(pattern string) bool {
		if slices.ContainsFunc(f.Hosts, func(h Host) bool { return h.Name == "" || hostMatches(pattern, h.Name) }) {
			return true
		}
		name := strings.TrimPrefix(strings.ToLower(pattern), "*.")
		return slices.ContainsFunc(f.Commands, func(c Command) bool {
			text := strings.ToLower(c.text())
			return (c.Shell || f.launches(c) || smugglesAny(c.Argv) || slices.ContainsFunc(c.Argv, func(word string) bool { return callers[programName(word)] })) && strings.Contains(text, name)
		})
	})
}
