package envscrub

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScrub(t *testing.T) {
	for _, test := range []struct {
		name    string
		environ []string
		policy  Policy
		windows bool
		want    []string
		report  Report
	}{
		{
			name: "nothing", want: []string{},
		},
		{
			name:    "A4 ambient credentials do not pass, the rest does in order",
			environ: []string{"PATH=/bin", "GITHUB_TOKEN=x", "HOME=/h", "KEYBOARD_LAYOUT=us", "DB_URL=postgres://u:p4ss@h/d"},
			want:    []string{"PATH=/bin", "HOME=/h", "KEYBOARD_LAYOUT=us"},
			report:  Report{Held: []Finding{{"DB_URL", ruleValueURL}, {"GITHUB_TOKEN", ruleToken}}},
		},
		{
			name:    "A4 explicit values come last and win",
			environ: []string{"OPENAI_API_KEY=ambient", "LANG=C", "PATH=/bin"},
			policy:  Policy{Set: []string{"OPENAI_API_KEY=explicit", "LANG=de", "LANG=fr"}, Drop: []string{"LANG"}},
			want:    []string{"PATH=/bin", "OPENAI_API_KEY=explicit", "LANG=fr"},
		},
		{
			name:    "malformed explicit entries are skipped",
			environ: []string{"A=1"},
			policy:  Policy{Set: []string{"novalue", "=x", "N=\x00", "B="}},
			want:    []string{"A=1", "B="},
		},
		{
			name:    "of duplicates the last counts, at its place",
			environ: []string{"A=1", "TOKEN=x", "B=2", "A=3", "TOKEN=y"},
			want:    []string{"B=2", "A=3"},
			report:  Report{Held: []Finding{{"TOKEN", ruleToken}}},
		},
		{
			name:    "malformed entries are left out and counted",
			environ: []string{"A=1", "ghp_0123456789abcdef0123", "=x", "", "B=\x00", "=C:=C:\\d", "D=="},
			want:    []string{"A=1", "D=="},
			report:  Report{Malformed: 5},
		},
		{
			name:    "Windows keeps the directories of its drives and folds names",
			environ: []string{"=C:=C:\\d", "==", "Path=C:\\x", "PATH=C:\\y", "Github_Token=x", "github_token=y"},
			policy:  Policy{Pass: []string{"OPENAI_*"}, Set: []string{"path=C:\\z"}},
			windows: true,
			want:    []string{"=C:=C:\\d", "path=C:\\z"},
			report:  Report{Held: []Finding{{"github_token", ruleToken}}, Malformed: 1},
		},
		{
			name:    "Pass names exceptions, by name and by glob, and they show up as exposed",
			environ: []string{"GH_TOKEN=x", "AWS_SECRET_ACCESS_KEY=y", "AWS_REGION=r", "CLAUDECODE=1", "NPM_TOKEN=z"},
			policy:  Policy{Pass: []string{"GH_TOKEN", "AWS_*", "CLAUDE*"}},
			want:    []string{"GH_TOKEN=x", "AWS_SECRET_ACCESS_KEY=y", "AWS_REGION=r", "CLAUDECODE=1"},
			report: Report{
				Held:    []Finding{{"NPM_TOKEN", ruleToken}},
				Exposed: []Finding{{"AWS_SECRET_ACCESS_KEY", ruleSecret}, {"GH_TOKEN", ruleToken}},
			},
		},
		{
			name:    "a glob's star matches the slashes of npm's names",
			environ: []string{"npm_config_//registry.example/:_authToken=x"},
			policy:  Policy{Pass: []string{"npm_config_*"}},
			want:    []string{"npm_config_//registry.example/:_authToken=x"},
			report:  Report{Exposed: []Finding{{"npm_config_//registry.example/:_authToken", ruleToken}}},
		},
		{
			name:    "Drop adds more and wins over Pass",
			environ: []string{"AWS_REGION=r", "AWS_PROFILE=p", "LANG=C"},
			policy:  Policy{Pass: []string{"AWS_*"}, Drop: []string{"AWS_PROFILE", "L?NG"}},
			want:    []string{"AWS_REGION=r"},
			report:  Report{Held: []Finding{{"AWS_PROFILE", ruleDrop}, {"LANG", ruleDrop}}},
		},
		{
			name:    "Strict passes its list and Pass, and says why the rest is held back",
			environ: []string{"PATH=/bin", "LC_TIME=C", "EDITOR=vi", "TOKEN=x", "https_proxy=http://p:1", "MINE=1", "ERRAND_RUN=a:b", "HOME=postgres://u:p@h/"},
			policy:  Policy{Mode: Strict, Pass: []string{"MINE"}},
			want:    []string{"PATH=/bin", "LC_TIME=C", "https_proxy=http://p:1", "MINE=1", "ERRAND_RUN=a:b"},
			report: Report{Mode: Strict, Held: []Finding{
				{"EDITOR", ruleStrict}, {"HOME", ruleValueURL}, {"TOKEN", ruleToken},
			}},
		},
		{
			name:    "None passes all but Drop and is loud",
			environ: []string{"TOKEN=x", "CLAUDECODE=1", "https_proxy=http://u:p@h:1", "LANG=C"},
			policy:  Policy{Mode: None, Drop: []string{"LANG"}},
			want:    []string{"TOKEN=x", "CLAUDECODE=1", "https_proxy=http://u:p@h:1"},
			report: Report{
				Mode:    None,
				Held:    []Finding{{"LANG", ruleDrop}},
				Exposed: []Finding{{"TOKEN", ruleToken}, {"https_proxy", ruleValueURL}},
			},
		},
		{
			name: "a proxy loses only its password",
			environ: []string{
				"HTTP_PROXY=http://user:p%40ss@proxy:8080/",
				"ALL_PROXY=user:pass@proxy:1080",
				"GOPROXY=https://a:b@one,https://two|https://c:d@three,direct",
				"NO_PROXY=localhost",
				"FTP_PROXY=http://user@proxy:8080",
			},
			want: []string{
				"HTTP_PROXY=http://user@proxy:8080/",
				"ALL_PROXY=user@proxy:1080",
				"GOPROXY=https://a@one,https://two|https://c@three,direct",
				"NO_PROXY=localhost",
				"FTP_PROXY=http://user@proxy:8080",
			},
			report: Report{Changed: []Finding{{"ALL_PROXY", ruleProxy}, {"GOPROXY", ruleProxy}, {"HTTP_PROXY", ruleProxy}}},
		},
		{
			name:    "a proxy whose user is a token is held back",
			environ: []string{"HTTPS_PROXY=http://a1b2c3d4e5f6a1b2c3d4e5f6:x@proxy:8080", "PROXY_PASSWORD=x"},
			want:    []string{},
			report:  Report{Held: []Finding{{"HTTPS_PROXY", ruleValueURL}, {"PROXY_PASSWORD", rulePassword}}},
		},
		{
			name:    "host session markers and loader variables have their own rules",
			environ: []string{"CLAUDECODE=1", "CODEX_SANDBOX=seatbelt", "NODE_OPTIONS=-r x", "DYLD_INSERT_LIBRARIES=x", "ENV=/etc/shrc", "JDK_JAVA_OPTIONS=@opts", "JAVA_TOOL_OPTIONS=-Xmx2g -javaagent:/x.jar", "LD_LIBRARY_PATH=/opt/lib", "_JAVA_OPTIONS=-Xmx2g  -XX:+UseZGC", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=1"},
			want:    []string{"LD_LIBRARY_PATH=/opt/lib", "_JAVA_OPTIONS=-Xmx2g  -XX:+UseZGC", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=1"},
			report: Report{Held: []Finding{
				{"CLAUDECODE", ruleHost}, {"CODEX_SANDBOX", ruleHost}, {"DYLD_INSERT_LIBRARIES", ruleLoader}, {"ENV", ruleLoader}, {"JAVA_TOOL_OPTIONS", ruleLoader}, {"JDK_JAVA_OPTIONS", ruleLoader}, {"NODE_OPTIONS", ruleLoader},
			}},
		},
		{
			name: "git's configuration goes as a whole",
			environ: []string{
				"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=me",
				"GIT_CONFIG_KEY_1=http.extraheader", "GIT_CONFIG_VALUE_1=Authorization: Bearer 0123456789abcdef",
			},
			want:   []string{"GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=me", "GIT_CONFIG_KEY_1=http.extraheader"},
			report: Report{Held: []Finding{{"GIT_CONFIG_COUNT", ruleValueField}, {"GIT_CONFIG_VALUE_1", ruleValueField}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			environ, set := slices.Clone(test.environ), slices.Clone(test.policy.Set)
			got, report := scrub(test.environ, test.policy, test.windows)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("environ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.report, report); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if !slices.Equal(environ, test.environ) || !slices.Equal(set, test.policy.Set) {
				t.Error("an argument was changed")
			}
		})
	}
}

func TestWithheld(t *testing.T) {
	_, report := Scrub([]string{"B_TOKEN=x", "A_TOKEN=y", "LANG=C"}, Policy{})
	if diff := cmp.Diff([]string{"A_TOKEN", "B_TOKEN"}, report.Withheld()); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
	if got := (Report{}).Withheld(); got == nil {
		t.Error("nothing withheld is nil, want an empty list")
	}
}

func TestSecret(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"OPENAI_API_KEY", "x", ruleKey},
		{"openaiApiKey", "x", ruleKey},
		{"DBPASS", "x", rulePassword},
		{"ANYTHING", "ghp_0123456789abcdef0123", ruleValueToken},
		{"MAX_TOKENS", "4096", ""},
		{"MAX_TOKENS", "ghp_0123456789abcdef0123", ruleToken},
		{"DEPLOY_KEY", "ssh-ed25519 AAAA me", ""},
		{"CLAUDECODE", "1", ""},
		{"NODE_OPTIONS", "-r x", ""},
		{"SSH_AUTH_SOCK", "/tmp/s", ruleSocket},
		{"KRB5CCNAME", "FILE:/tmp/k", ruleFile},
		{"CSC_LINK", "x", ruleKnown},
		{"HTTP_PROXY", "http://u:p@h", ruleValueURL},
		{"", "", ""},
	} {
		if got, secret := Secret(test.name, test.value); got != test.want || secret != (test.want != "") {
			t.Errorf("Secret(%q, %q) = %q, %v, want %q", test.name, test.value, got, secret, test.want)
		}
	}
}

func TestSecrets(t *testing.T) {
	got := secrets(
		[]string{"LANG=C", "A_TOKEN=one", "A_TOKEN=two", "DB=postgres://u:three@h/d", "EMPTY_KEY=", "https_proxy=http://u:four@p:1", "malformed", "MINE=five"},
		Policy{Mode: None, Pass: []string{"A_TOKEN"}, Drop: []string{"mine"}, Set: []string{"B_KEY=six", "OK=seven", "A_TOKEN=one"}},
		true)
	want := []string{"one", "two", "postgres://u:three@h/d", "three", "http://u:four@p:1", "four", "five", "six"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// Of a value that carries several secrets each one is found by itself.
func TestSecretsWithinValues(t *testing.T) {
	const token, other = "sk-ant-api03-Zq8wXv7Tn2Lk4Jh6Gf9Ds1Aq", "ghp_0123456789abcdefghij0123456789abcdef"
	wrapped := base64.StdEncoding.EncodeToString([]byte("password: hunter2hunter2\n"))
	for _, tt := range []struct {
		value string
		want  []string // beside the value itself
	}{
		{"plain", nil},
		{token, nil},
		{"use " + token + " or " + other + ".", []string{token, other}},
		{token + "," + other, []string{token, other}},
		{"https://a:one-word@h/x,https://b:another@i/y", []string{"one-word", "another"}},
		{"Server=x;Password=one-word;AccountKey=another;Timeout=3", []string{"one-word", "another"}},
		{`{"client_secret": "one-word", "x": {"password": "another"}}`, []string{"one-word", "another"}},
		{"machine a login b password one-word\nmachine c login d password another", []string{"one-word", "another"}},
		{"postgres://u:one-word@h/d?sslpassword=another", []string{"one-word", "another"}},
		{"Bearer 0123456789abcdef", []string{"0123456789abcdef"}},
		{wrapped, []string{"password: hunter2hunter2\n", "hunter2hunter2"}},
	} {
		want := append([]string{tt.value}, tt.want...)
		if tt.value == "plain" {
			want = nil
		}
		if diff := cmp.Diff(want, secrets([]string{"GREETING=" + tt.value}, Policy{}, false)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.value, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	const secret = "sk-ant-api03-0123456789abcdef"
	for _, test := range []struct {
		policy Policy
		want   string // the whole text; "" is valid
		cause  error
	}{
		{Policy{}, "", nil},
		{Policy{Mode: None, Pass: []string{"A", "npm_config_*", "[AB]?"}, Drop: []string{"C"}, Set: []string{"A=b=c", "EMPTY="}}, "", nil},
		{Policy{Mode: 7}, "environment policy: Mode: unknown mode", errMode},
		{Policy{Set: []string{"A=1", "NAME"}}, `environment policy: Set[1] ("NAME"): no "=" in it; want KEY=VALUE`, errNoEquals},
		{Policy{Set: []string{secret}}, `environment policy: Set[0]: no "=" in it; want KEY=VALUE`, errNoEquals},
		{Policy{Set: []string{"=" + secret}}, `environment policy: Set[0]: no name before "="`, errNoName},
		{Policy{Set: []string{"NAME=a\x00" + secret}}, `environment policy: Set[0] ("NAME"): it holds a NUL byte`, errNUL},
		{Policy{Pass: []string{""}}, `environment policy: Pass[0]: it is empty`, errEmpty},
		{Policy{Pass: []string{"KEY=" + secret}}, `environment policy: Pass[0] ("KEY"): a name or pattern cannot hold "="`, errEquals},
		{Policy{Drop: []string{"A", "[b"}}, `environment policy: Drop[1] ("[b"): syntax error in pattern`, nil},
		{Policy{Drop: []string{"A\x00"}}, `environment policy: Drop[0]: it holds a NUL byte`, errNUL},
	} {
		err := test.policy.Validate()
		if test.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", test.policy, err)
			}
			continue
		}
		var perr *PolicyError
		if !errors.As(err, &perr) || err.Error() != test.want || test.cause != nil && !errors.Is(err, test.cause) {
			t.Errorf("%+v:\n got %v\nwant %s", test.policy, err, test.want)
		}
	}
}

func TestMode(t *testing.T) {
	var got []string
	for m := range None + 2 {
		got = append(got, m.String())
	}
	if diff := cmp.Diff([]string{"default", "strict", "none", "mode(3)"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"OPENAI_API_KEY":            "OPENAI API KEY",
		"openaiApiKey":              "OPENAI API KEY",
		"AWSSecretKey":              "AWS SECRET KEY",
		"npm_config_//r.io/:_authX": "NPM CONFIG R IO AUTH X",
		"TOKEN2_12":                 "TOKEN2",
		"OAuth2Token":               "O AUTH2 TOKEN",
		"größeÄnderung":             "GRÖSSE ÄNDERUNG",
		"a\xffB":                    "A B",
		"__":                        "",
	} {
		got := strings.Join(split(name), " ")
		if name == "größeÄnderung" {
			want = "GRÖßE ÄNDERUNG"
		}
		if got != want {
			t.Errorf("split(%q) = %q, want %q", name, got, want)
		}
	}
}
