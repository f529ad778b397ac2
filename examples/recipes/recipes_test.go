package recipes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

func TestMain(m *testing.M) {
	script.Hook()
	leak.Main(m)
}

// scripted is the command of an agent that follows a script.
func scripted(t *testing.T, src string) client.Command {
	t.Helper()
	path, args := script.Command(t, src)
	return client.Command{Path: path, Args: args}
}

func provider(t *testing.T, name, src string) subagent.Provider {
	t.Helper()
	p, err := subagent.NewACP(name, scripted(t, src), &subagent.ACPOptions{Permission: permission.Allow()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func delegate(t *testing.T, p subagent.Provider, dir string) *subagent.Result {
	t.Helper()
	res, err := subagent.Delegate(t.Context(), p, subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestFirstGood(t *testing.T) {
	var tasks []subagent.Task
	dir := t.TempDir()
	for name, src := range map[string]string{
		"wrong": `on session/prompt; text "no"`, "slow": `on session/prompt; wait forever`, "right": `on session/prompt; text "yes"`,
	} {
		tasks = append(tasks, subagent.Task{Provider: provider(t, name, src), Request: subagent.Request{Dir: dir, Prompt: subagent.Text("go")}})
	}
	res := firstGood(t.Context(), tasks, func(res *subagent.Result) bool { return res.Output == "yes" })
	if res == nil || res.Provider != "right" {
		t.Errorf("got %+v, want that of right", res)
	}
}

func TestLimited(t *testing.T) {
	dir := t.TempDir()
	agents, err := limited(provider(t, "gemini", `on session/prompt; append started $pid; wait file go; text "done"`))
	if err != nil {
		t.Fatal(err)
	}
	task := subagent.Task{Provider: agents[0], Request: subagent.Request{Dir: dir, Prompt: subagent.Text("go")}}
	all := make(chan []*subagent.Result)
	go func() { all <- subagent.Gather(t.Context(), []subagent.Task{task, task, task}, nil) }()
	await(t, filepath.Join(dir, "started"), 2)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, res := range <-all {
		check.Equal(t, "output", res.Output, "done")
	}
}

// await waits for a file of so many lines.
func await(t *testing.T, file string, lines int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if strings.Count(string(text), "\n") == lines {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %q", file, text)
		}
	}
}

func TestRobust(t *testing.T) {
	dir := t.TempDir()
	p, err := robust(provider(t, "broken", `append started $pid; on initialize; exit 3`), provider(t, "sound", `on session/prompt; text "done"`))
	if err != nil {
		t.Fatal(err)
	}
	res := delegate(t, p, dir)
	check.Equal(t, "output", res.Output, "done")
	var tried []string
	for _, a := range res.Attempts {
		tried = append(tried, a.Provider)
	}
	if diff := cmp.Diff([]string{"broken", "broken", "broken", "sound"}, tried); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

func TestPrewarmed(t *testing.T) {
	dir := t.TempDir()
	pool, err := prewarmed(scripted(t, `on session/new; append ready $pid; on session/prompt; text "$pid"`), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	await(t, filepath.Join(dir, "ready"), 2)
	ready, err := os.ReadFile(filepath.Join(dir, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); pool.Spares() < 2 && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
	}
	if res := delegate(t, pool, dir); !strings.Contains("\n"+string(ready), "\n"+res.Output+"\n") {
		t.Errorf("the run was that of process %s, want one of those that were ready:\n%s", res.Output, ready)
	}
}

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	login := filepath.Join(dir, "login.json")
	if err := os.WriteFile(login, []byte("the login"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := private(scripted(t, `on session/prompt; read "$env.HOME/.config/coder/login.json"; text "$answer in $env.HOME"`), login)
	if err != nil {
		t.Fatal(err)
	}
	one, other := delegate(t, p, dir), delegate(t, p, dir)
	check.Has(t, one.Output, "the login in ")
	if one.Output == other.Output {
		t.Errorf("both have the same home: %s", one.Output)
	}
	if _, err := os.Stat(strings.TrimPrefix(one.Output, "the login in ")); !os.IsNotExist(err) {
		t.Errorf("the home is still there: %v", err)
	}
}

func TestPatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "nothing"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	var agents []subagent.Provider
	for _, name := range []string{"one", "other"} {
		agents = append(agents, provider(t, name, fmt.Sprintf(`on session/prompt; write hello.txt "from %s\n"`, name)))
	}
	agents = append(agents, provider(t, "failed", `on session/prompt; write hello.txt "half"; stop refusal`))
	found, err := patches(t.Context(), agents, subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "patches", len(found), 2)
	for _, name := range []string{"one", "other"} {
		check.Has(t, found[name], "+++ b/hello.txt", "+from "+name)
	}
	if _, err := os.Stat(filepath.Join(dir, "hello.txt")); !os.IsNotExist(err) {
		t.Errorf("the user's work tree was touched: %v", err)
	}
}
