package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

func TestEnvFile(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
		err        string // after the file's name
	}{
		{"nothing", "", nil, ""},
		{"plain", "A=1\nB=two words\n", []string{"A=1", "B=two words"}, ""},
		{"no newline at the end", "A=1", []string{"A=1"}, ""},
		{"comments and blank lines", "# a=b\n\n  # c\n \t\nA=1 # why\nB=a#b\nC=# nothing\n", []string{"A=1", "B=a#b", "C="}, ""},
		{"export", "export A=1\nexport\tB=2\nexported=3\n", []string{"A=1", "B=2", "exported=3"}, ""},
		{"a variable called export", "export=1\n", []string{"export=1"}, ""},
		{"spaces", "  A = 1 \n", []string{"A=1"}, ""},
		{"CRLF and BOM", "\ufeffA=1\r\nB='x'\r\n\r\n", []string{"A=1", "B=x"}, ""},
		{"empty values", "A=\nB=\"\"\nC=''\n", []string{"A=", "B=", "C="}, ""},
		{"an equals sign in the value", "A=b=c==\n", []string{"A=b=c=="}, ""},
		{"single quotes are literal", `A='x\n"$HOME" # '` + " # c\n", []string{`A=x\n"$HOME" # `}, ""},
		{"double quotes", `A="x\ty\n\"q\" \\ \$HOME \z # "` + "\n", []string{"A=x\ty\n\"q\" \\ $HOME \\z # "}, ""},
		{"escaped line ends stay, those of the file do not", "A=\"x\\r\\ny\r\nz\"\r\nB='x\r\ny'\r\nC=\"x\\r\r\n\"\r\n", []string{"A=x\r\ny\nz", "B=x\ny", "C=x\r\n"}, ""},
		{"nothing is expanded", "A=$HOME `id` ${X}\n", []string{"A=$HOME `id` ${X}"}, ""},
		{"several lines", "A=\"-----BEGIN\nx\r\n-----END\"\nB=2\n", []string{"A=-----BEGIN\nx\n-----END", "B=2"}, ""},
		{"quotes within a word", `A=it's "so"` + "\n", []string{`A=it's "so"`}, ""},
		{"the last one counts", "A=1\nA=2\n", []string{"A=1", "A=2"}, ""},

		{"no equals sign", "A=1\n\nsekret\n", nil, `:3: there is no "=" in it; want KEY=VALUE`},
		{"no name", "=sekret\n", nil, ":1: the name is empty; want KEY=VALUE"},
		{"a name with a space", "A B=sekret\n", nil, ":1: there is a space or a control character in the name; want KEY=VALUE"},
		{"export without a name", "export =sekret\n", []string{"export=sekret"}, ""},
		{"an open quote", "A=1\nB=\"sekret\nmore\n", nil, ":2: the quote is not closed"},
		{"an open single quote", "B='sekret", nil, ":1: the quote is not closed"},
		{"a backslash at the end", `B="sekret\`, nil, ":1: the quote is not closed"},
		{"text after a quote", "A='x\ny'sekret\n", nil, ":1: there is something after the closing quote"},
		{"the line after a long value", "A='x\ny'\nsekret\n", nil, `:3: there is no "=" in it; want KEY=VALUE`},
		{"NUL", "A=sek\x00ret\n", nil, ":1: the value of A holds a NUL byte"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseEnvFile("dir/.env", tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := ""
			if tt.err != "" {
				want = "dir/.env" + tt.err
			}
			if text := errorText(err); text != want {
				t.Errorf("error %q, want %q", text, want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Whatever a file says: an error names it, what was read is fit for a process, and is read
// as the same again when it is written with everything escaped.
func FuzzEnvFile(f *testing.F) {
	f.Add("A=1\nexport B='x' # c\nC=\"\\n\"\n")
	f.Add("=\n\"\n'\\")
	f.Add("A=a\tb\r$c\\d\"e\n")
	f.Add("A=\"\\r\\n\\t\\$\\\\\"\r\nB='\r\n'")
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	f.Fuzz(func(t *testing.T, text string) {
		check.Cost(t, len(text))
		env, err := parseEnvFile("f", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%q does not name the file", err)
			}
			return
		}
		written := "# again\n"
		for _, entry := range env {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || checkName(name) != nil || strings.ContainsRune(entry, 0) {
				t.Errorf("entry %q", entry)
			}
			written += "export " + name + `="` + escape.Replace(value) + "\" # its end\n"
		}
		again, err := parseEnvFile("f", written)
		if err != nil || !slices.Equal(env, again) {
			t.Errorf("%q, written as %q, is read as %q, %v", env, written, again, err)
		}
	})
}

func TestExplicitEnv(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(file, []byte("A=file\nB=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) {
		return "value of " + name, name == "SET" || name == "npm_config_//r/:_x"
	}
	tests := []struct {
		name         string
		files, flags []string
		want         []string
		err          string
	}{
		{"nothing", nil, nil, nil, ""},
		{"flags come after files", []string{file}, []string{"A=flag"}, []string{"A=file", "B=file", "A=flag"}, ""},
		{"let through", nil, []string{"SET", "X=", "Y=a=b"}, []string{"SET=value of SET", "X=", "Y=a=b"}, ""},
		{"an odd name", nil, []string{"npm_config_//r/:_x"}, []string{"npm_config_//r/:_x=value of npm_config_//r/:_x"}, ""},
		{"not set here", nil, []string{"A=1", "UNSET"}, nil, "--env, number 2: UNSET is not set here, so there is nothing to let through"},
		{"a value in the place of a name", nil, []string{"sk-live-4242"}, nil, "--env, number 1: what it names is not set here, so there is nothing to let through"},
		{"empty", nil, []string{""}, nil, "--env, number 1: the name is empty; want KEY=VALUE"},
		{"no name", nil, []string{"=sekret"}, nil, "--env, number 1: the name is empty; want KEY=VALUE"},
		{"space in the name", nil, []string{"A =sekret"}, nil, "--env, number 1: there is a space or a control character in the name; want KEY=VALUE"},
		{"no such file", []string{"/nonexistent/.env"}, nil, nil, "--env-file: open /nonexistent/.env: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := explicitEnv(t.Context(), tt.files, tt.flags, lookup)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := errorText(err); text != tt.err {
				t.Errorf("error %q, want %q", text, tt.err)
			}
			if err != nil && strings.Contains(fmt.Sprint(err), "sekret") {
				t.Errorf("%q shows a value", err)
			}
		})
	}
}
