package envscrub

import (
	"iter"
	"regexp"
	"strings"
	"sync"
)

// A tokenForm is how the tokens of one kind look: one of the prefixes, and a tail of at
// least min characters from a set.
type tokenForm struct {
	prefixes string
	min      int
	set      func(c byte) bool
	// check, if not nil, is what else the tail must be.
	check func(tail string) bool
}

// The sets of characters that tails are made of.
func wordChar(c byte) bool   { return alnum(c) || c == '_' || c == '-' }
func dottedChar(c byte) bool { return wordChar(c) || c == '.' }
func base64Char(c byte) bool {
	return wordChar(c) || c == '+' || c == '/' || c == '=' || c == '.' || c == '~'
}
func upperChar(c byte) bool { return digit(c) || c >= 'A' && c <= 'Z' }

// tokenForms lists the forms. The minimal lengths are shorter than the real ones, and
// yet longer than what people name things with the prefix: hf_transfer, npm_config.
var tokenForms = []tokenForm{
	// Code hosting and package registries.
	{"ghp_ gho_ ghu_ ghs_ ghr_", 16, alnum, nil},
	{"github_pat_", 16, wordChar, nil},
	{"glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt- GR1348941", 14, dottedChar, nil},
	{"ATATT3 ATCTT3 ATBB ATSTT", 20, base64Char, mixed},
	{"npm_", 20, alnum, nil},
	{"pypi-AgE pypi-AgN", 16, wordChar, nil},
	{"rubygems_", 32, hexDigit, nil},
	{"cio", 32, alnum, mixed},
	{"oy2", 40, alnum, mixed},
	{"dckr_pat_ dckr_oat_", 12, wordChar, nil},
	{"CLOJARS_", 32, alnum, nil},
	{"AKCp", 40, alnum, nil},
	{"cmVmdGtu", 30, alnum, nil},
	{"sgp_ squ_ sqp_ sqa_", 32, wordChar, nil},
	{"bkua_ bkct_ bkpt_ CCIPAT_ CCIPRJ_", 20, wordChar, nil},
	// Clouds and their tools.
	{"AKIA ASIA ABIA ACCA", 12, upperChar, nil},
	{"ABSK", 40, base64Char, nil},
	{"bedrock-api-key-", 20, base64Char, nil},
	{"amzn.mws.", 30, wordChar, nil},
	{"AIza", 30, wordChar, nil},
	{"ya29.", 20, wordChar, nil},
	{"GOCSPX-", 16, wordChar, nil},
	{"APA91b", 60, wordChar, nil},
	{"1//0", 30, wordChar, mixed},
	{"LTAI", 16, alnum, mixed},
	{"dop_v1_ doo_v1_ dor_v1_", 32, hexDigit, nil},
	{"HRKU-", 30, wordChar, nil},
	{"fo1_ fm1_ fm2_ fm1r_ fm1a_", 30, base64Char, nil},
	{"sbp_ sb_secret_", 20, wordChar, nil},
	{"pscale_tkn_ pscale_pw_ pscale_oauth_ napi_", 20, wordChar, nil},
	{"vercel_blob_rw_ nfp_ nfc_ nfo_ nfb_", 20, wordChar, nil},
	{"cfut_ cfat_ cfk_", 30, wordChar, nil},
	{"v1.0-", 100, wordChar, nil},
	{"pul-", 32, hexDigit, nil},
	{"hvs. hvb. hvr.", 20, wordChar, nil},
	{"s. b.", 24, alnum, camel},
	{"dp.pt. dp.st. dp.ct. dp.sa. dp.said. dp.scim. dp.audit.", 20, dottedChar, nil},
	{"dapi", 32, hexDigit, nil},
	{"SWMTKN-1-", 20, wordChar, nil},
	{"sha256~", 30, wordChar, nil},
	{"tskey-", 16, wordChar, nil},
	{"ops_eyJ", 30, base64Char, nil},
	{"A3-", 28, func(c byte) bool { return upperChar(c) || c == '-' }, digits},
	{"mdb_sa_sk_ essu_ phx_ phs_", 24, wordChar, nil},
	// Models.
	{"sk-ant- sk-proj- sk-svcacct- sk-admin- sk-None- sk-or- sk-lf- sk-helicone- sk-litellm-", 12, wordChar, nil},
	{"sk- csk- fw- pa- rk-", 16, wordChar, longRun},
	{"sess-", 32, alnum, nil},
	{"hf_ gsk_ r8_ fw_ xai- nvapi- jina_ pplx- tgp_v1_ pcsk_ e2b_ fc- api_org_", 20, wordChar, longRun},
	{"tvly- lsv2_pt_ lsv2_sk_ ls__ wandb_v1_ crsr_ bb_live_", 16, wordChar, mixed},
	// Services.
	{"xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe.xoxp- xoxe.xoxb-", 10, base64Char, nil},
	{"xapp-", 10, wordChar, digits},
	{"sk_live_ sk_test_ rk_live_ rk_test_ rzp_live_ rzp_test_", 10, alnum, nil},
	{"whsec_", 16, base64Char, nil},
	{"sk_", 40, alnum, mixed},
	{"sq0atp- sq0csp-", 20, wordChar, nil},
	{"EAAA", 56, wordChar, camel},
	{"access_token$production$ access_token$sandbox$", 16, func(c byte) bool { return wordChar(c) || c == '$' }, nil},
	{"shpat_ shpca_ shppa_ shpss_ shptka_", 16, alnum, nil},
	{"FLWSECK", 20, wordChar, nil},
	{"SG.", 24, dottedChar, func(tail string) bool { return strings.Contains(tail, ".") }},
	{"SK", 32, hexDigit, func(tail string) bool { return len(tail) == 32 }},
	{"key-", 32, hexDigit, nil},
	{"xkeysib- xsmtpsib-", 32, wordChar, nil},
	{"re_", 18, wordChar, longRun},
	{"md-", 20, wordChar, func(tail string) bool { return len(tail) == 22 && camel(tail) }},
	{"sk.eyJ", 40, dottedChar, nil},
	{"pat", 70, dottedChar, func(tail string) bool { return tail[14] == '.' }},
	{"secret_", 40, alnum, nil},
	{"ntn_ lin_api_ lin_oauth_ figd_ figo_ tfp_ rdme_ duffel_live_ duffel_test_ shippo_live_ shippo_test_", 20, wordChar, nil},
	{"PMAK- CFPAT- sntrys_ sntryu_ NRAK- NRJS- NRII- NRRA- NRIQ- NRSP- EZAK EZTK fio-u- p8e- dbtc_ dbts_ retool_ ion_", 16, base64Char, nil},
	{"glsa_ glc_ eyJrIjoi", 20, base64Char, nil},
	{"hcaik_ hcbik_ hcamk_", 24, alnum, nil},
	{"dt0c01. dt0s01. dt0s02. dt0s16.", 20, dottedChar, nil},
	{"sl.", 40, wordChar, camel},
	{"EAA", 60, alnum, camel},
	{"AAAAAAAAAAAAAAAAAAAAA", 30, func(c byte) bool { return alnum(c) || c == '%' }, percent},
	{"sdk-", 36, wordChar, isUUID},
	{"pat-na1- pat-eu1-", 30, wordChar, nil},
	{"claim- rnd_", 20, alnum, mixed},
	// Hashes of passwords, as htpasswd and crypt make them.
	{"$apr1$ $2a$ $2b$ $2y$ $5$ $6$ $y$ $argon2i$ $argon2id$", 20, func(c byte) bool { return base64Char(c) || c == '$' || c == ',' }, nil},
	{"AQVN y0_ t1.", 36, dottedChar, camel},
	{"eyJ", 12, dottedChar, isJWT},
}

// tokenPrefixes has the forms' prefixes under their first byte.
var tokenPrefixes = func() (byFirst [256][]tokenPrefix) {
	for i := range tokenForms {
		for _, text := range strings.Fields(tokenForms[i].prefixes) {
			byFirst[text[0]] = append(byFirst[text[0]], tokenPrefix{text, &tokenForms[i]})
		}
	}
	return byFirst
}()

type tokenPrefix struct {
	text string
	*tokenForm
}

// longRun reports whether a tail has a piece that no word is: very long, or long with a
// digit or in mixed case; or a number longer than a date at its end.
func longRun(tail string) bool {
	for run := range strings.FieldsFuncSeq(tail, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(run) >= 24 || len(run) >= 12 && mixed(run) || len(run) >= 20 && strings.ToLower(run) != run {
			return true
		}
	}
	return len(tail)-len(strings.TrimRight(tail, "0123456789")) >= 10
}

// camel reports whether a tail has letters of both cases and a digit.
func camel(tail string) bool {
	return strings.ContainsAny(tail, "0123456789") && strings.ToLower(tail) != tail && strings.ToUpper(tail) != tail
}

func percent(tail string) bool { return strings.Contains(tail, "%") }
func digits(tail string) bool  { return strings.ContainsAny(tail, "0123456789") }

// isJWT reports whether what follows "eyJ" makes it a JSON Web Token: a header, a
// payload that is an object or encrypted, a signature.
func isJWT(tail string) bool {
	parts := strings.Split(tail, ".")
	switch len(parts) {
	case 3:
		return len(parts[0]) >= 8 && strings.HasPrefix(parts[1], "ey") && len(parts[1]) >= 8
	case 5:
		return len(parts[0]) >= 8 && len(parts[2]) >= 8 && len(parts[3]) >= 8
	}
	return false
}

// wholeTokens are the forms without a prefix, of values that are nothing else:
// Telegram's and Discord's bot tokens, Azure's client secret, Mailchimp's and New
// Relic's keys, an Ably key.
var wholeTokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` +
		`\d{8,10}:[A-Za-z0-9_-]{35}` +
		`|[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}` +
		`|[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30,36}` +
		`|[0-9a-f]{32}-us\d{1,2}` +
		`|[0-9a-f]{36}NRAL` +
		`)$`)
})

// tokens yields the tokens of a known form in v.
func tokens(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(v); i++ {
			if i > 0 && wordChar(v[i-1]) {
				continue
			}
			if token := tokenAt(v[i:]); token != "" {
				if !yield(token) {
					return
				}
				i += len(token) - 1
			}
		}
		if len(v) >= 36 && len(v) <= 90 && wholeTokens().MatchString(v) {
			yield(v)
		}
	}
}

// tokenAt returns the token that v begins with, or "".
func tokenAt(v string) string {
	for _, p := range tokenPrefixes[v[0]] {
		tail, ok := strings.CutPrefix(v, p.text)
		if !ok {
			continue
		}
		n := 0
		for n < len(tail) && p.set(tail[n]) {
			n++
		}
		if n >= p.min && (p.check == nil || p.check(tail[:n])) {
			return v[:len(p.text)+n]
		}
	}
	return ""
}
