package envscrub

import (
	"encoding/base64"
	"strings"
)

// The shapes of values that clear a name or, if a name only might hold a secret,
// settle it.

// setting reports whether a value is a switch's position or a duration.
func setting(v string) bool {
	return settings[strings.ToLower(v)] || isDuration(v)
}

// isDuration reports whether a value is a short number with a unit of time: 15m, 90d.
func isDuration(v string) bool {
	unit := strings.TrimLeft(v, "0123456789")
	return len(v)-len(unit) <= 4 && unit != v && timeUnits[unit]
}

var timeUnits = set("ms s sec m min h d w")

var settings = set("true false yes no on off enabled disabled none null nil undefined required optional")

// isReference reports whether a value only says where the credential is: in a
// password manager or a secret store, or by its resource name.
func isReference(v string) bool {
	for _, p := range references {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return false
}

var references = strings.Fields("op:// bws:// vault:// secret:// ssm:// awssm:// awsps:// gcpsm:// azkv:// keychain:// sm:// ref+ secretref: arn: @Microsoft.KeyVault(")

// isScheme reports whether a value names a way of authorizing and holds no credential.
func isScheme(v string) bool { return schemes[strings.ToLower(v)] }

var schemes = set(`basic bearer digest ntlm negotiate kerberos gssapi krb5 oauth oauth2 oidc saml ldap jwt token apikey api-key
	password passwd publickey certificate cert mtls tls x509 netrc htpasswd pam trust peer ident md5 plain login cram-md5
	scram scram-sha-1 scram-sha-256 scram-sha-512 mysql_native_password caching_sha2_password anonymous local default auto need want
	github google gitlab azure aws iam`)

// isPath reports whether a value is the path of a file or directory.
func isPath(v string) bool {
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") ||
		strings.HasPrefix(v, "~") || strings.HasPrefix(v, "$HOME") || strings.HasPrefix(v, "${HOME") ||
		strings.HasPrefix(v, `\\`) || len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/')
}

// isPlainURL reports whether a value is an address that anybody may know.
func isPlainURL(v string) bool {
	return strings.Contains(v, "://") && !strings.ContainsAny(v, " \t\n") && !opaque(v)
}

// isPublic reports whether a value is the public half of a key pair, a certificate,
// the name of one, or an address.
func isPublic(v string) bool {
	for _, p := range publicPrefixes {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return isPath(v) && strings.HasSuffix(v, ".pub") || derTag(v) == derSequence || isPlainURL(v)
}

// isNoKey reports whether a value clears a name that says KEY.
func isNoKey(v string) bool { return isPublic(v) || isKeystroke(v) }

// isKeystroke reports whether a value names keys of a keyboard: space, ctrl+shift+p.
func isKeystroke(v string) bool {
	parts := strings.FieldsFunc(strings.ToLower(v), func(r rune) bool { return r == '+' || r == '-' })
	for i, part := range parts {
		if !keyNames[part] && (i == 0 || len(part) > 1) {
			return false
		}
	}
	return len(parts) > 0
}

var keyNames = set(`space enter return tab esc escape backspace delete insert home end up down left right capslock
	ctrl control alt option shift cmd command meta super win fn f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12`)

// isNoLogin reports whether a value is a user's name, or user and group, and not a
// user with a password: admin:hunter2.
func isNoLogin(v string) bool {
	user, password, ok := strings.Cut(v, ":")
	word := func(c byte) bool { return c >= 'a' && c <= 'z' || strings.IndexByte("-_.", c) >= 0 }
	return !ok || user == "" || len(password) < 4 || all(password, digit) || all(password, word) ||
		strings.ContainsAny(v, " \t\n/\\,")
}

// The first thing in a certificate or public key in DER is a sequence, in a private
// key it is a version number.
const (
	derInteger  = 0x02
	derSequence = 0x30
)

// derTag returns the tag of the first thing in a DER structure of at least 256 bytes in
// base64, without armour; or 0.
func derTag(v string) byte {
	if !strings.HasPrefix(v, "MII") || len(v) < 340 {
		return 0
	}
	b, err := base64.StdEncoding.DecodeString(v[:8])
	if err != nil {
		return 0
	}
	return b[4]
}

var publicPrefixes = []string{
	"ssh-rsa ", "ssh-ed25519 ", "ssh-dss ", "ecdsa-sha2-", "sk-ssh-ed25519@", "sk-ecdsa-sha2-",
	"-----BEGIN PUBLIC KEY", "-----BEGIN RSA PUBLIC KEY", "-----BEGIN PGP PUBLIC KEY", "-----BEGIN CERTIFICATE",
	"LS0tLS1CRUdJTiBDRVJU", "LS0tLS1CRUdJTiBQVUJM", "age1", "pk_live_", "pk_test_", "pk-lf-",
}

// isFingerprint reports whether a value is the id of a PGP key.
func isFingerprint(v string) bool {
	v = strings.TrimPrefix(strings.ReplaceAll(v, " ", ""), "0x")
	return (len(v) == 8 || len(v) == 16 || len(v) == 40) && all(v, hexDigit)
}

// isUUID reports whether a value is a UUID in its usual form.
func isUUID(v string) bool {
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' &&
		all(strings.ReplaceAll(v, "-", ""), hexDigit)
}

// isAddress reports whether a value is the address of an account or contract, which
// is public. A private key there is longer.
func isAddress(v string) bool {
	return len(v) == 42 && strings.HasPrefix(v, "0x") && all(v[2:], hexDigit)
}

// opaque reports whether a value looks like something a machine made up: long, of one
// piece, digits and letters in one run. In a URL one part of its path or query is
// enough, and may be a UUID. Paths, host names, UUIDs, addresses and prose are not opaque.
func opaque(v string) bool {
	if _, rest, ok := strings.Cut(v, "://"); ok {
		for i, part := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("/?&=#", r) }) {
			if i > 0 && (opaquePart(part) || isUUID(part)) {
				return true
			}
		}
		return false
	}
	return !isPath(v) && opaquePart(v)
}

func opaquePart(v string) bool {
	const shortest, shortestRun = 20, 12
	if len(v) < shortest || isUUID(v) || isAddress(v) || !all(v, func(c byte) bool { return alnum(c) || strings.IndexByte("_-+/=~.%", c) >= 0 }) {
		return false
	}
	for run := range strings.FieldsFuncSeq(v, func(r rune) bool { return !alnum(byte(r)) }) {
		if len(run) >= shortestRun && mixed(run) {
			return true
		}
	}
	return false
}

// mixed reports whether a run of letters and digits has both.
func mixed(run string) bool {
	return strings.ContainsAny(run, "0123456789") && !all(run, digit)
}

// placeholder reports whether a value stands for another one: ${DB_PASSWORD}, $TOKEN,
// %PASS%, <password>, {{ token }}, ****.
func placeholder(v string) bool {
	switch {
	case v == "":
		return true
	case v[0] == '$':
		return len(v) > 1 && (v[1] == '{' || v[1] == '(' || all(v[1:], func(c byte) bool { return c >= 'A' && c <= 'Z' || c == '_' || digit(c) }))
	case v[0] == '<' || v[0] == '{' || v[0] == '[':
		return true
	case v[0] == '%':
		return len(v) <= 2 || v[len(v)-1] == '%' && !strings.Contains(v[1:len(v)-1], "%")
	}
	return strings.Trim(v, "*") == "" || v == "..." || v == "…"
}

func all(s string, is func(c byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

func digit(c byte) bool    { return c >= '0' && c <= '9' }
func letter(c byte) bool   { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func alnum(c byte) bool    { return digit(c) || letter(c) }
func hexDigit(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
func space(c byte) bool    { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
