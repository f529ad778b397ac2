package envscrub

import (
	"iter"
	"strings"
)

// passwords yields the passwords (or tokens) that stand in front of a host: in a URL of
// any scheme, in user:password@host:port, in Go's MySQL form user:password@tcp(host)/db,
// in Oracle's user/password@host.
func passwords(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for u := range userinfos(v) {
			password := u.password
			if password == "" && len(u.user) >= 20 && (opaquePart(u.user) || isUUID(u.user)) {
				password = u.user
			}
			if password != "" && !yield(password) {
				return
			}
		}
		if _, rest, ok := strings.Cut(v, "jdbc:oracle:"); ok {
			head, _, at := strings.Cut(rest, "@")
			if _, password, slash := strings.Cut(head, "/"); at && slash && !placeholder(password) {
				yield(password)
			}
		}
	}
}

// withoutPasswords returns a proxy variable's value without the passwords of its URLs.
// Everything else stays as it is, byte by byte.
func withoutPasswords(v string) string {
	var b strings.Builder
	done := 0
	for u := range userinfos(v) {
		if u.password != "" && u.cut >= done {
			b.WriteString(v[done:u.cut])
			done = u.cut + len(":") + len(u.password)
		}
	}
	b.WriteString(v[done:])
	return b.String()
}

// A userinfo is what stands before the host of an address. An empty password and a
// placeholder count as none.
type userinfo struct {
	user, password string
	cut            int // where the ":" before the password is
}

// userinfos yields the userinfo of each address in v.
func userinfos(v string) iter.Seq[userinfo] {
	return func(yield func(userinfo) bool) {
		rest, found := v, false
		for {
			_, after, ok := strings.Cut(rest, "://")
			if !ok {
				break
			}
			found, rest = true, after
			if u, ok := cutUserinfo(after, len(v)-len(after)); ok && !yield(u) {
				return
			}
		}
		if !found {
			if u, ok := bareUserinfo(v); ok {
				yield(u)
			}
		}
	}
}

// cutUserinfo reads the userinfo in front of the authority of a URL, which is at s in
// the value's offset from. People put passwords with "/", "#" or "?" into URLs without
// escaping them, so a "port" that is none and is followed by an "@" is a password too.
func cutUserinfo(s string, from int) (userinfo, bool) {
	if i := strings.IndexAny(s, " \t\r\n\"'`<>|"); i >= 0 {
		s = s[:i]
	}
	authority := s
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		authority = s[:i]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		_, port, ok := strings.Cut(authority, ":")
		if !ok || port == "" || all(port, digit) || strings.Contains(authority, "[") || strings.Contains(port, ",") {
			return userinfo{}, false
		}
		if at = strings.LastIndexByte(s, '@'); at < 0 {
			return userinfo{}, false
		}
	}
	user, password, ok := strings.Cut(s[:at], ":")
	if !ok || placeholder(password) {
		password = ""
	}
	return userinfo{user, password, from + len(user)}, true
}

// bareUserinfo reads user:password@host:port, user:password@tcp(host) and Oracle's
// user/password@host:port where the value is nothing else. Without a port it could be
// mailto:, npm: or the reference of an image or action.
func bareUserinfo(v string) (userinfo, bool) {
	at := strings.LastIndexByte(v, '@')
	sep := strings.IndexAny(v, ":/")
	if at < 0 || sep < 0 || sep >= at || isPath(v) || strings.ContainsAny(v, " \t\n\"'") {
		return userinfo{}, false
	}
	if addressSchemes[strings.ToLower(v[:sep])] {
		return userinfo{}, false
	}
	u := userinfo{v[:sep], v[sep+1 : at], sep}
	host := v[at+1:]
	dialled := strings.HasPrefix(host, "tcp(") || strings.HasPrefix(host, "unix(") || strings.HasPrefix(host, "(")
	return u, (dialled || hasPort(host)) && !placeholder(u.password) && !strings.ContainsAny(u.user, "=,;{")
}

// addressSchemes are those of addresses that have no "//".
var addressSchemes = set("sip sips xmpp mailto acct stun turn")

// hasPort reports whether s is host:port, with a path or without.
func hasPort(s string) bool {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "//"), "/")
	host, port, ok := strings.Cut(s, ":")
	return ok && port != "" && all(port, digit) && all(host, func(c byte) bool { return alnum(c) || c == '.' || c == '-' })
}
