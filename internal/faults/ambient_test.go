package faults

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// withheld are variables of this process that no agent inherits. The tests run in
// parallel, where none may change the environment, so all have the same: TestMain sets
// it.
var withheld = map[string]string{
	"AWS_SECRET_ACCESS_KEY": "canary-aws-0123456789", "GITHUB_TOKEN": "canary-github-0123456789", "X_API_KEY": "canary-x-0123456789",
	"NPM_CONFIG__AUTH": "canary-npm-0123456789", "DATABASE_URL": "postgres://user:canary-db-0123456789@host/db", "SSH_AUTH_SOCK": "/tmp/canary-ssh/agent",
	"PGPASSWORD": "canary-pg-0123456789", "MY_SERVICE_PAT": "canary-pat-0123456789", "SESSION_COOKIE": "canary-cookie-0123456789", "SENTRY_DSN": "canary-dsn-0123456789",
	"lower_case_secret": "canary-lower-0123456789", "DEPLOY_NOTE": "-----BEGIN PRIVATE KEY-----\ncanary-pem-0123456789\n-----END PRIVATE KEY-----\n",
	"CLAUDECODE": "1", "LD_PRELOAD": "", "NODE_OPTIONS": "--require /canary.js",
}

// inherited are some that every agent gets, though they sound like the others.
var inherited = map[string]string{
	"KEYBOARD_LAYOUT": "us", "MONKEY_SEE": "monkey do", "TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "4096", "EMPTY_ONE": "", "TWO_LINES": "one\ntwo",
}

func setAmbient() {
	for _, vars := range []map[string]string{withheld, inherited} {
		for name, value := range vars {
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
	}
}

// canary is in the value of each withheld variable that has a secret in it.
const canary = "canary-"

// withheldNames are the names, sorted.
func withheldNames() []string { return slices.Sorted(maps.Keys(withheld)) }

// assigns reports whether environ, one variable a line, has the variable.
func assigns(environ, name string) bool { return strings.Contains("\n"+environ, "\n"+name+"=") }
