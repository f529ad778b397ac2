package envscrub

// A Rule is one reason for holding a variable back or for changing it.
type Rule struct {
	// Name is what a [Finding] carries.
	Name string
	// Meaning is one line for people.
	Meaning string
}

// The names of the rules. Those from ruleKey to ruleValueFile say that a variable
// holds a credential; the others hold it back for another reason.
const (
	ruleKey        = "key"
	rulePassword   = "password"
	ruleSecret     = "secret"
	ruleToken      = "token"
	ruleCredential = "credential"
	ruleAuth       = "auth"
	ruleCookie     = "cookie"
	ruleConnection = "connection-string"
	ruleCode       = "one-time-code"
	ruleMaterial   = "key-material"
	ruleWebhook    = "webhook"
	ruleFile       = "credential-file"
	ruleSocket     = "agent-socket"
	ruleKnown      = "known-name"

	ruleValueURL     = "value-url"
	ruleValuePrivate = "value-private-key"
	ruleValueToken   = "value-token"
	ruleValueField   = "value-field"
	ruleValueHeader  = "value-header"
	ruleValueHook    = "value-webhook"
	ruleValueFile    = "value-credential-file"

	ruleHost   = "host-session"
	ruleLoader = "loader"
	ruleDrop   = "drop"
	ruleStrict = "strict"
	ruleProxy  = "proxy-password"
)

var rules = []Rule{
	{ruleKey, "the name says key: API_KEY, SSHKEY, KEYSTORE; not KEYBOARD, MONKEY, PUBLIC_KEY, KEY_LENGTH"},
	{rulePassword, "the name says password: PASSWORD, PASSWD, PASSPHRASE, *_PASS, *_PWD, DBPASS; not COMPASS, OLDPWD"},
	{ruleSecret, "the name says secret: CLIENT_SECRET, MYSECRET; not SECRETARY"},
	{ruleToken, "the name says token: GITHUBTOKEN, *_PAT, *_JWT; not TOKENIZERS_PARALLELISM, MAX_TOKENS"},
	{ruleCredential, "the name says credentials: AZURE_CREDENTIALS, AWS_CREDS, SERVICE_ACCOUNT_JSON"},
	{ruleAuth, "the name says authorization: NPM_CONFIG__AUTH, AUTH_HEADER, BASICAUTH; not AUTHOR, AUTH_URL"},
	{ruleCookie, "the name says cookie or web session: SESSION_COOKIE; not COOKIE_DOMAIN, XDG_SESSION_ID"},
	{ruleConnection, "the name says connection string: *_DSN, CONNECTION_STRING, *_SAS"},
	{ruleCode, "the name says PIN, one-time password or recovery code"},
	{ruleMaterial, "the name says other key material: SALT, PEPPER, MNEMONIC, SEED_PHRASE, PSK, PFX, HMAC"},
	{ruleWebhook, "the name says webhook of a service whose URL is the credential: SLACK_WEBHOOK_URL"},
	{ruleFile, "the variable names a file of credentials: KUBECONFIG, PGPASSFILE, NETRC, KRB5CCNAME"},
	{ruleSocket, "the variable opens an agent that signs or answers with credentials: SSH_AUTH_SOCK, GPG_AGENT_INFO"},
	{ruleKnown, "a variable known to hold a credential although its name does not say so: CSC_LINK, OP_SESSION_*"},
	{ruleValueURL, "the value holds a URL or address with a password or a token in front of the host"},
	{ruleValuePrivate, "the value holds a private key: a PEM or PGP block, an age key, also in base64"},
	{ruleValueToken, "the value holds a token of a known form: ghp_…, sk-ant-…, AKIA…, xoxb-…, a JSON Web Token"},
	{ruleValueField, "the value has a field that says credential: Password=…, AccountKey=…, \"client_secret\": …, &sig=…"},
	{ruleValueHeader, "the value is an HTTP authorization: Bearer …, Basic …, Authorization: …"},
	{ruleValueHook, "the value is a URL that is itself the credential: hooks.slack.com/services/…"},
	{ruleValueFile, "the value is the path of a credential file: …/.ssh/id_ed25519, …/.aws/credentials"},
	{ruleHost, "a marker of the session we run in, which makes a nested agent refuse to start or join that session: CLAUDECODE"},
	{ruleLoader, "makes programs load or run code at their start: LD_PRELOAD, DYLD_*, NODE_OPTIONS, BASH_ENV"},
	{ruleDrop, "the policy's Drop names it"},
	{ruleStrict, "the mode is Strict and neither its list nor the policy's Pass names it"},
	{ruleProxy, "kept, but the password was cut out of the proxy's URL"},
}

// Rules returns every rule, in the order of the documentation. The caller owns the
// slice.
func Rules() []Rule {
	return append([]Rule(nil), rules...)
}
