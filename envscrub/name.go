package envscrub

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameRule returns the rule by which a variable's name says credential, or "". The
// value has a say only where the name alone would mislead: PASSWORD_AUTH=true is a
// setting, DEPLOY_KEY=ssh-ed25519 AAAA… is the public half, SITE_LICENSE is a secret
// only if the value looks like one.
func nameRule(name, value string) string {
	upper := strings.ToUpper(name)
	switch {
	case harmlessNames.match(upper):
		return ""
	case fileNames.match(upper):
		return ruleFile
	case socketNames.match(upper):
		return ruleSocket
	case knownNames.match(upper):
		return ruleKnown
	}
	ws := split(name)
	for hit := range hits(ws) {
		switch {
		case setting(value), isReference(value), hit.t.unless != nil && hit.t.unless(value):
			continue
		case hasAny(ws[:hit.at], flagWords) && (value == "0" || value == "1"):
			continue
		case (hit.t.weak || hit.about(ws) || hit.counts(ws)) && !opaque(value):
			continue
		}
		return hit.t.rule
	}
	return ""
}

// A hit is a place in a name's words where a term says credential.
type hit struct {
	t       *term
	at, end int // the words [at, end)
	// rest is what follows the term in its word.
	rest string
}

// about reports whether the name goes on to speak about the credential and ends with
// that: TOKEN_EXPIRY_SECONDS, PASSWORD_MIN_LENGTH, SECRET_NAME, TOKENTTL.
func (h hit) about(ws []string) bool {
	if n := significant(ws); h.end < n {
		return aboutWord(ws[n-1])
	}
	return aboutWord(h.rest)
}

// counts reports whether the hit speaks of a number of things: MAX_OUTPUT_TOKENS.
func (h hit) counts(ws []string) bool {
	last := ws[h.end-1]
	return (strings.HasSuffix(last, "TOKENS") || strings.HasSuffix(last, "KEYS")) && hasAny(ws, quantityWords)
}

// hits yields the places where a term says credential, from left to right. What a
// phrase covers is out of the reach of the terms for parts of words: in GPG_KEY_ID no
// KEY is left to find.
func hits(ws []string) iter.Seq[hit] {
	end := significant(ws)
	return func(yield func(hit) bool) {
		for i := 0; i < len(ws); {
			if t, n := phraseAt(ws, i); t != nil && (!t.last || i+n >= end) {
				if t.rule != "" && !yield(hit{t, i, i + n, ""}) {
					return
				}
				i += n
				continue
			}
			if t, rest := partOf(ws[i], i >= end-1); t != nil && !yield(hit{t, i, i + 1, rest}) {
				return
			}
			i++
		}
	}
}

// phraseAt returns the longest phrase that begins at ws[i] and how many words it has.
func phraseAt(ws []string, i int) (best *term, n int) {
	for _, key := range [2]string{ws[i], base(ws[i])} {
		for _, p := range phrases[key] {
			if len(p.words) > n && hasWords(ws[i:], p.words) {
				best, n = p.term, len(p.words)
			}
		}
	}
	return best, n
}

// hasWords reports whether ws begins with the words of a phrase; those after the first
// may be plurals.
func hasWords(ws, want []string) bool {
	if len(ws) < len(want) {
		return false
	}
	for i, w := range want {
		if ws[i] != w && base(ws[i]) != w && (i == 0 || ws[i] != w+"S") {
			return false
		}
	}
	return true
}

// partOf returns the term that a word holds (GITHUBTOKEN) or, as the name's last,
// ends in (DBPASS), and what follows the term in the word.
func partOf(word string, last bool) (t *term, rest string) {
	for i := range parts {
		if p := &parts[i]; strings.Contains(word, p.text) {
			if _, rest, ok := strings.Cut(withoutSounds(word), p.text); ok {
				return p.term, rest
			}
		}
	}
	if word = base(word); !last || soundsLike[word] {
		return nil, ""
	}
	for i := range endings {
		if p := &endings[i]; strings.HasSuffix(word, p.text) {
			return p.term, ""
		}
	}
	return nil, ""
}

// withoutSounds takes out of a word what only sounds like a credential: the KEY of
// PRIMARYKEYBOARD and of MONKEYPATCH.
func withoutSounds(word string) string {
	for _, s := range soundsWithin {
		word = strings.ReplaceAll(word, s, ".")
	}
	for _, s := range soundsAtStart {
		if rest, ok := strings.CutPrefix(word, s); ok {
			return "." + rest
		}
	}
	return word
}

// significant returns the number of words without those at the end that only say
// where or in what form: DB_PASS_PROD, CERT_PASS_BASE64, JWT_V2.
func significant(ws []string) int {
	n := len(ws)
	for n > 1 && (neutralWords[ws[n-1]] || neutralWords[base(ws[n-1])]) {
		n--
	}
	return n
}

// aboutWord reports whether w is one of aboutWords or the plural of one.
func aboutWord(w string) bool {
	w = base(w)
	return aboutWords[w] || aboutWords[strings.TrimSuffix(w, "S")]
}

func hasAny(ws []string, of map[string]bool) bool {
	return slices.ContainsFunc(ws, func(w string) bool { return of[w] })
}

// base is a word without the digits at its end: TOKEN2, OAUTH2.
func base(word string) string {
	return strings.TrimRight(word, "0123456789")
}

// split takes a name apart into words in upper case: at everything that is no letter
// or digit, and at the humps of camel case (openaiApiKey, AWSSecretKey). A word of
// digits alone says nothing and is left out.
func split(name string) []string {
	ws := make([]string, 0, 8)
	start := 0
	flush := func(end int) {
		if w := name[start:end]; base(w) != "" {
			ws = append(ws, strings.ToUpper(w))
		}
		start = end
	}
	var before rune
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + size
		case i > start && unicode.IsUpper(r):
			after, _ := utf8.DecodeRuneInString(name[i+size:])
			if !unicode.IsUpper(before) || unicode.IsLower(after) {
				flush(i)
			}
		}
		before = r
		i += size
	}
	flush(len(name))
	return ws
}
