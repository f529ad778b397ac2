package envscrub

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestCorpus tries the rules on the lists of testdata. They are written before the
// rules or against them, so nothing in them may be misjudged.
func TestCorpus(t *testing.T) {
	for _, list := range []struct {
		file   string
		secret bool
	}{
		{"testdata/secret.txt", true},
		{"testdata/harmless.txt", false},
	} {
		t.Run(list.file, func(t *testing.T) {
			entries := corpus(t, list.file)
			wrong := 0
			for _, entry := range entries {
				name, value, _ := strings.Cut(entry, "=")
				out, report := scrub([]string{entry}, Policy{}, false)
				if rule, secret := Secret(name, value); secret != list.secret || (len(out) == 0) != list.secret {
					wrong++
					t.Errorf("%.120q: secret %v by rule %q, passed on %q, report %v", entry, secret, rule, out, report.Held)
				}
			}
			t.Logf("%d of %d misjudged", wrong, len(entries))
		})
	}
}

// bare are the values tried where the name alone decides.
var bare = []string{"x", "some-value", "12345"}

// corpus reads the entries of a list.
func corpus(t testing.TB, file string) (entries []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.Contains(line, "="):
			entries = append(entries, expand(line))
		default:
			for _, value := range bare {
				entries = append(entries, line+"="+value)
			}
		}
	}
	return entries
}

var (
	wrapForm = regexp.MustCompile(`\{wrap:(.*)\}`)
	madeForm = regexp.MustCompile(`\{(hex|HEX|alnum|upper|lower|word|digit|b64|pem|pem1|jwt|uuid|UUID|basic)(?::([^{}]*))?\}`)
)

// expand makes up what a line only describes, the same at every run.
func expand(line string) string {
	line = wrapForm.ReplaceAllStringFunc(line, func(m string) string {
		return base64.StdEncoding.EncodeToString([]byte(expand(strings.ReplaceAll(m[len("{wrap:"):len(m)-1], "|", "\n"))))
	})
	r := rand.New(rand.NewPCG(1, uint64(len(line))))
	chars := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		return string(b)
	}
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	uuid := func() string {
		const hex = "0123456789abcdef"
		return chars(hex, 8) + "-" + chars(hex, 4) + "-4" + chars(hex, 3) + "-a" + chars(hex, 3) + "-" + chars(hex, 12)
	}
	line = madeForm.ReplaceAllStringFunc(line, func(m string) string {
		kind, arg := madeForm.FindStringSubmatch(m)[1], madeForm.FindStringSubmatch(m)[2]
		n, _ := strconv.Atoi(arg)
		switch kind {
		case "hex":
			return chars("0123456789abcdef", n)
		case "HEX":
			return chars("0123456789ABCDEF", n)
		case "alnum":
			return chars(lower+upper+digits, n)
		case "upper":
			return chars(upper+digits, n)
		case "lower":
			return chars(lower+digits, n)
		case "word":
			return chars(lower+upper+digits+"_-", n)
		case "digit":
			return chars(digits, n)
		case "b64":
			return chars(lower+upper+digits+"+/", n)
		case "pem":
			return "-----BEGIN " + arg + "-----\n" + chars(lower+upper+digits+"+/", 64) + "\n" + chars(lower+upper+digits+"+/", 40) + "\n-----END " + arg + "-----\n"
		case "pem1":
			return "-----BEGIN " + arg + `-----\n` + chars(lower+upper+digits+"+/", 64) + `\n-----END ` + arg + `-----\n`
		case "jwt":
			return "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + chars(lower+upper+digits+"_-", 43)
		case "uuid":
			return uuid()
		case "UUID":
			return strings.ToUpper(uuid())
		case "basic":
			return base64.StdEncoding.EncodeToString([]byte("user:" + chars(lower, 8)))
		}
		return m
	})
	return strings.ReplaceAll(line, "↵", "\n")
}
