package envscrub

import (
	"iter"
	"strings"
)

// fields yields the values of the fields that say credential: of a connection string
// (AccountKey=…;), a query (&sig=…), an option (--password=…), JSON, YAML, XML, a header
// line, a .netrc.
func fields(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(v) {
			if strings.IndexByte("=: >", v[i]) < 0 {
				continue
			}
			if value := fieldAt(v, i); value != "" && !yield(value) {
				return
			}
		}
		netrcPasswords(v)(yield)
	}
}

// fieldAt returns the credential after the separator at v[i], or "".
func fieldAt(v string, i int) string {
	name, start, quoted := fieldName(v[:i])
	if name == "" {
		return ""
	}
	need := fieldNeeds(name)
	switch {
	case need == 0,
		v[i] == ':' && !quoted && need != header && !lineStart(v[:start]) && !strings.HasPrefix(strings.ToLower(name), "x-"),
		v[i] == ' ' && !option(name, v[i+1:]),
		v[i] == '>' && !strings.HasSuffix(v[:start], "<"):
		return ""
	}
	rest := strings.TrimLeft(v[i+1:], " \t")
	value := fieldValue(rest)
	if need == header {
		value = headerValue(rest)
	}
	switch {
	case placeholder(value), setting(value), isPath(value), len(value) <= 3 && all(value, digit),
		strings.HasPrefix(value, "id="): // docker build --secret id=…
		return ""
	}
	switch need {
	case opaqueOnly:
		if !opaque(value) && !(len(value) >= 16 && mixed(value)) {
			return ""
		}
	case coded:
		if !opaque(value) && !isBasic(value) {
			return ""
		}
	case login:
		if isNoLogin(value) {
			return ""
		}
	case pair:
		if !quoted && !strings.Contains(v, ";") && !strings.HasSuffix(v[:start], "?") && !strings.HasSuffix(v[:start], "&") {
			return ""
		}
	}
	return value
}

// A need is what the value of a field must be, beside not empty and no placeholder,
// for the field to hold a credential.
type need int

const (
	anything   need = iota + 1
	opaqueOnly      // names that hold harmless things as often: key, token, sig
	coded           // Docker's auth: user:password in base64
	pair            // pwd: a password only among the fields of a connection string
	login           // user:password, as curl takes it
	header          // the rest of the line, after the scheme
)

// fieldNames are compared without case, "-", "_" and "."; fieldEndings end such a name.
var (
	fieldNames = map[string]need{
		"u": login, "user": login, "pwd": pair, "pass": pair, "userpwd": anything,
		"key": opaqueOnly, "sig": opaqueOnly, "signature": opaqueOnly, "code": opaqueOnly, "sessionid": opaqueOnly, "psk": opaqueOnly,
		"accesskeyid": opaqueOnly, "awsaccesskeyid": opaqueOnly, "xamzsignature": opaqueOnly, "xgoogsignature": opaqueOnly,
		"auth": coded, "authorization": header, "proxyauthorization": header, "cookie": header, "setcookie": header,
		"xhoneycombteam": anything, "xauth": anything, "xcustomauth": anything, "basicauthuserinfo": anything, "instrumentationkey": anything,
	}
	fieldEndings = []struct {
		text string
		need need
	}{
		{"password", anything}, {"passwd", anything}, {"passphrase", anything}, {"secret", anything},
		{"secretkey", anything}, {"accesskey", anything}, {"accountkey", anything}, {"privatekey", anything},
		{"apikey", anything}, {"authtoken", anything}, {"accesstoken", anything}, {"refreshtoken", anything},
		{"sessiontoken", anything}, {"identitytoken", anything}, {"registrytoken", anything}, {"clientkeydata", anything},
		{"sharedaccesssignature", anything}, {"token", opaqueOnly},
	}
)

func fieldNeeds(name string) need {
	name = fieldSqueeze.Replace(strings.ToLower(name))
	if n := fieldNames[name]; n != 0 {
		return n
	}
	for _, e := range fieldEndings {
		if strings.HasSuffix(name, e.text) {
			return e.need
		}
	}
	return 0
}

var fieldSqueeze = strings.NewReplacer("-", "", "_", "", ".", "")

// option reports whether a name is an option whose value follows it as a word of its
// own: --password hunter2.
func option(name, rest string) bool {
	return (name == "-u" || strings.HasPrefix(name, "--") && !strings.HasPrefix(name, "--no-")) && !strings.HasPrefix(rest, "-")
}

// fieldName returns the name at the end of s, where it begins and whether it is quoted.
func fieldName(s string) (name string, start int, quoted bool) {
	s = strings.TrimRight(s, " \t")
	if q := strings.TrimRight(s, `"'`); q != s {
		s, quoted = strings.TrimRight(q, `\`), true
	}
	const longest = 64
	start = len(s)
	for start > 0 && len(s)-start < longest && (alnum(s[start-1]) || strings.IndexByte("-_.", s[start-1]) >= 0) {
		start--
	}
	return s[start:], start, quoted
}

// fieldValue returns the value at the beginning of s.
func fieldValue(s string) string {
	s = strings.TrimLeft(s, `\`)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		value, _, _ := strings.Cut(s[1:], s[:1])
		return strings.TrimRight(value, `\`)
	}
	if i := strings.IndexAny(s, " \t\r\n;&,\"'}])<"); i >= 0 {
		s = s[:i]
	}
	return s
}

// headerValue returns the credential of a header line, after the scheme.
func headerValue(s string) string {
	s = strings.TrimLeft(s, `"'`)
	if i := strings.IndexAny(s, "\r\n\"',"); i >= 0 {
		s = s[:i]
	}
	s = strings.TrimSpace(s)
	if scheme, rest, ok := strings.Cut(strings.ReplaceAll(s, "%20", " "), " "); ok {
		return strings.TrimSpace(rest)
	} else if isScheme(scheme) {
		return ""
	}
	return s
}

// lineStart reports whether s ends where a line of YAML or of headers begins.
func lineStart(s string) bool {
	s = strings.TrimRight(s, " \t-")
	return s == "" || strings.HasSuffix(s, "\n") || strings.HasSuffix(s, `\n`)
}

// netrcPasswords yields the passwords of entries in the form of .netrc.
func netrcPasswords(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !strings.Contains(v, "machine ") || !strings.Contains(v, "login ") {
			return
		}
		ws := strings.Fields(v)
		for i := 0; i+1 < len(ws); i++ {
			if ws[i] == "password" && !yield(ws[i+1]) {
				return
			}
		}
	}
}
