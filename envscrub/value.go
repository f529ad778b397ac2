package envscrub

import (
	"encoding/base64"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// findSecret returns the rule by which a value holds a credential whatever its name, or "".
func findSecret(v string) (rule string) {
	if rule = findPlain(v); rule == "" {
		// A kubeconfig, a key or a service account often travels in base64.
		if text := unwrap(v); text != "" {
			rule = findPlain(text)
		}
	}
	return rule
}

func findPlain(v string) (rule string) {
	switch {
	case len(v) < 6:
		return ""
	case isPrivateKey(v):
		return ruleValuePrivate
	case isWebhook(v):
		return ruleValueHook
	case occurs(tokens(v)):
		return ruleValueToken
	case occurs(passwords(v)):
		return ruleValueURL
	case occurs(fields(v)):
		return ruleValueField
	case findAuthorization(v) != "":
		return ruleValueHeader
	case isCredentialFile(v):
		return ruleValueFile
	}
	return ""
}

// credentials returns those that a value which findSecret has a rule for only carries, and
// what it carries in base64.
func credentials(v string) []string {
	var list []string
	for _, found := range []iter.Seq[string]{tokens(v), passwords(v), fields(v)} {
		list = slices.AppendSeq(list, found)
	}
	if credential := findAuthorization(v); credential != "" {
		list = append(list, credential)
	}
	if text := unwrap(v); text != "" && findPlain(text) != "" {
		list = append(append(list, text), credentials(text)...)
	}
	return list
}

// occurs reports whether there is any.
func occurs(found iter.Seq[string]) bool {
	for range found {
		return true
	}
	return false
}

// privateMarks stand in private keys and nowhere else.
var privateMarks = []string{
	"PuTTY-User-Key-File-", "AGE-SECRET-KEY-1", "AGE-PLUGIN-",
	"b3BlbnNzaC1rZXktdjE", // the body of an OpenSSH key, without its armour
}

func isPrivateKey(v string) bool {
	for _, mark := range privateMarks {
		if strings.Contains(v, mark) {
			return true
		}
	}
	_, armour, ok := strings.Cut(v, "-----BEGIN ")
	return ok && strings.Contains(armour, "PRIVATE KEY") || derTag(v) == derInteger
}

// hooks are the addresses of services whose URL is all that a caller needs.
var hooks = strings.Fields(`hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/
	discord.com/api/webhooks/ discordapp.com/api/webhooks/ .webhook.office.com/ outlook.office.com/webhook/
	outlook.office365.com/webhook/ api.telegram.org/bot	chat.googleapis.com/v1/spaces/ hooks.zapier.com/hooks/ maker.ifttt.com/trigger/ hook.integromat.com/ hook.eu1.make.com/ hook.eu2.make.com/ hook.us1.make.com/ hook.us2.make.com/
	open.feishu.cn/open-apis/bot/ open.larksuite.com/open-apis/bot/ oapi.dingtalk.com/robot/send qyapi.weixin.qq.com/cgi-bin/webhook/
	api.netlify.com/build_hooks/ api.render.com/deploy/ api.vercel.com/v1/integrations/deploy/ hc-ping.com/
	.g.alchemy.com/v2/ .infura.io/v3/
	uptime.betterstack.com/api/v1/heartbeat/ events.pagerduty.com/integration/ webhook.site/ logic.azure.com/workflows/`)

func isWebhook(v string) bool {
	if !strings.Contains(v, "://") {
		return false
	}
	for _, hook := range hooks {
		if i := strings.Index(v, hook); i >= 0 && len(v) > i+len(hook) {
			return true
		}
	}
	return false
}

// findAuthorization returns the credential of a value that is the content of an
// Authorization header: "Bearer abc123…", "Basic dXNlcjpwYXNz".
func findAuthorization(v string) string {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(v), " ")
	rest = strings.TrimSpace(rest)
	if !ok || strings.ContainsAny(rest, " \t\n") || placeholder(rest) {
		return ""
	}
	switch strings.ToLower(scheme) {
	case "basic":
		if isBasic(rest) {
			return rest
		}
	case "bearer", "token", "apikey", "negotiate", "glsa":
		if len(rest) >= 8 && mixed(rest) || len(rest) >= 24 {
			return rest
		}
	}
	return ""
}

// isBasic reports whether s is user:password in base64.
func isBasic(s string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	user, password, ok := strings.Cut(string(b), ":")
	return err == nil && ok && len(user)+len(password) >= 3 && printable(b)
}

// credentialFiles are file names that are there to hold credentials; a name that is
// too common stands with its directory.
var credentialFiles = set(`id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .netrc _netrc .pgpass pgpass.conf .my.cnf
	.mylogin.cnf .git-credentials .pypirc .htpasswd .vault-token kubeconfig .kubeconfig application_default_credentials.json
	.aws/credentials .kube/config .docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials
	gh/hosts.yml .dockercfg .s3cfg .boto credentials.db`)

var credentialTypes = set(".p12 .pfx .kdbx .keytab .ppk .key")

// sshFiles are what is no key in ~/.ssh.
var sshFiles = set("config known_hosts authorized_keys environment rc")

func isCredentialFile(v string) bool {
	v = strings.ReplaceAll(v, `\`, "/")
	dir, file := path.Split(v)
	if dir == "" || strings.ContainsAny(v, " :;\n") && !isPath(v) || strings.Contains(v[min(2, len(v)):], ":") {
		return false
	}
	if path.Base(dir) == ".ssh" {
		return file != "" && !sshFiles[file] && path.Ext(file) != ".pub"
	}
	return credentialFiles[file] || credentialFiles[path.Base(dir)+"/"+file] || credentialTypes[path.Ext(file)]
}

// unwrap returns the text that a value holds in base64, or "".
func unwrap(v string) string {
	v = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, v)
	v = strings.TrimRight(v, "=")
	if len(v) < 24 {
		return ""
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(v); err == nil && printable(b) {
			return string(b)
		}
	}
	return ""
}

// printable reports whether b is text.
func printable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && !space(c) || c == 0x7f {
			return false
		}
	}
	return true
}
