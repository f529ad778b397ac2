package subagent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// meeting answers when as many questions are open as are to be, each by itself: what
// ends in "-yes" is allowed.
type meeting struct {
	all  int
	mu   sync.Mutex // guards here
	here int
	met  chan struct{}
}

func newMeeting(all int) *meeting { return &meeting{all: all, met: make(chan struct{})} }

func (m *meeting) Decide(ctx context.Context, req permission.Request) permission.Decision {
	m.mu.Lock()
	if m.here++; m.here == m.all {
		close(m.met)
	}
	m.mu.Unlock()
	select {
	case <-m.met:
	case <-ctx.Done():
		return permission.Decision{Rule: "nobody came"}
	}
	if strings.HasSuffix(*req.ToolCall.Title, "-yes") {
		return permission.Decision{OptionID: "yes", Rule: "yes to " + req.SessionID}
	}
	return permission.Decision{OptionID: "no", Rule: "no to " + req.SessionID}
}

// ask is a question whose answer the agent writes into the file out.
func ask(id, title, session, out string) string {
	return fmt.Sprintf(`
    permission %s %q kind=edit %s
      option yes allow_once Yes
      option no reject_once No
      when allowed
        append %s allowed
      when rejected
        append %[4]s rejected
      when other
        append %[4]s nothing
    end
`, id, title, session, out)
}

// decisions are the permissions of a result or an audit as `session/call title: decision by
// rule`, by session and call.
func decision(session string, p permission.Record) string {
	return fmt.Sprintf("%s/%s %s: %s by %s", session, p.ToolCallID, *p.Title, p.Decision, p.Rule)
}

// What is asked at once, and what the audit makes of it.
func parityAudit(t *testing.T) {
	t.Run("C10 two tool calls and two sessions at once", func(t *testing.T) {
		t.Parallel()
		var out auditBuffer
		// The same call id in another session is another call.
		s := play(t, "on session/prompt\n  background\n"+ask("c1", "one-yes", "", "1")+"  end\n  background\n"+
			ask("c2", "two-no", "", "2")+"  end\n  background\n"+ask("c1", "three-no", "session=nested", "3")+"  end\n"+
			ask("c2", "four-yes", "session=nested", "4")+"  wait background",
			&subagent.ACPOptions{Permission: newMeeting(4), Audit: &subagent.Audit{W: &out}})
		res := s.run("go")
		for file, want := range map[string]string{"1": "allowed\n", "2": "rejected\n", "3": "rejected\n", "4": "allowed\n"} {
			check.Equal(t, "answer "+file, s.File(file), want)
		}
		want := map[string]bool{
			"session-1/c1 one-yes: allowed by yes to session-1": true, "session-1/c2 two-no: denied by no to session-1": true,
			"nested/c1 three-no: denied by no to nested": true, "nested/c2 four-yes: allowed by yes to nested": true,
		}
		lines := out.records(t)
		for _, p := range res.Permissions {
			if d := decision(p.SessionID, p); !want[d] {
				t.Errorf("result: %s", d)
			}
		}
		told := 0
		for _, rec := range lines {
			if p := rec.Permission; p != nil {
				told++
				if d := decision(p.SessionID, p.Record); !want[d] || *rec.SessionID != "session-1" {
					t.Errorf("audit: %s, in %s", d, *rec.SessionID)
				}
			}
		}
		check.Equal(t, "permissions", len(res.Permissions), 4)
		check.Equal(t, "permissions in the audit", told, 4)
		// Only the session's own call is permitted.
		for _, call := range res.ToolCalls {
			check.Equal(t, call.ID+" permitted", *call.Permitted, call.ID == "c1")
		}
	})

	t.Run("C10 two runs at once", func(t *testing.T) {
		t.Parallel()
		var out auditBuffer
		policy, audit := newMeeting(2), &subagent.Audit{W: &out}
		var both sync.WaitGroup
		var mu sync.Mutex // guards runs
		runs := map[string]string{}
		for _, title := range []string{"a-yes", "b-no"} {
			s := play(t, "on session/prompt\n"+ask("c1", title, "", "1"), &subagent.ACPOptions{Permission: policy, Audit: audit})
			both.Go(func() {
				req := s.request("go")
				req.Labels = map[string]string{"title": title}
				res, err := subagent.Delegate(t.Context(), s.provider, req)
				if err != nil {
					t.Errorf("%s: %v", title, err)
					return
				}
				want := map[string]string{"a-yes": "allowed\n", "b-no": "rejected\n"}[title]
				check.Equal(t, title, s.File("1"), want)
				mu.Lock()
				defer mu.Unlock()
				runs[res.RunID] = title
			})
		}
		both.Wait()
		for _, rec := range out.records(t) {
			check.Equal(t, "the label of "+rec.RunID, rec.Labels["title"], runs[rec.RunID])
			if rec.Permission != nil {
				check.Equal(t, "the title of "+rec.RunID, *rec.Permission.Title, runs[rec.RunID])
			}
		}
	})

	t.Run("C11 correlated fields", func(t *testing.T) {
		t.Parallel()
		var out auditBuffer
		s := play(t, `on initialize
			answer {"agentInfo": {"name": "robin", "version": "7.1"}}
			`+asks(yes+no), &subagent.ACPOptions{Audit: &subagent.Audit{W: &out}})
		res := s.run("go")
		lines := out.records(t)
		for _, rec := range lines {
			if rec.RunID != res.RunID || *rec.SessionID != *res.SessionID || rec.Turn != 1 || rec.SchemaVersion != 1 || rec.Time.IsZero() {
				t.Errorf("ids of a line: %+v", rec)
			}
		}
		start, asked := lines[0].Start, only(t, lines, subagent.AuditTypePermission).Permission
		if *start.ProtocolVersion != 1 || start.Client.Name == "" || start.Client.Version == "" || *start.Agent.Name != "robin" || *start.Agent.Version != "7.1" {
			t.Errorf("versions: %+v", start)
		}
		if asked.ToolCallID != "c1" || asked.Decision != permission.Denied || asked.Rule != "reject" || *asked.OptionID != "no" || asked.Ms < 0 ||
			len(asked.Options) != 2 || asked.Facts == nil || asked.Facts.Paths[0].Abs != s.Path("out.txt") {
			t.Errorf("decision: %+v", asked)
		}
	})

	t.Run("C13 joins", func(t *testing.T) {
		t.Parallel()
		var out auditBuffer
		rules := &permission.Rules{Default: permission.EffectAllow}
		s := play(t, `on session/new
			answer {"modes": {"currentModeId": "careful", "availableModes": []}, "models": {"currentModelId": "large", "availableModels": []}}
			`+asks(yes+no), &subagent.ACPOptions{Permission: rules, Audit: &subagent.Audit{W: &out}})
		req := s.request("go")
		req.Labels = map[string]string{"tenant": "acme", "user": "eve", "trace": "00-4bf9-01"}
		s.do(req)
		lines := out.records(t)
		for _, rec := range lines {
			if fmt.Sprint(rec.Labels) != fmt.Sprint(req.Labels) || rec.Turn != 1 {
				t.Errorf("%s: labels %v, turn %d", rec.Type, rec.Labels, rec.Turn)
			}
		}
		start, asked := lines[0].Start, only(t, lines, subagent.AuditTypePermission).Permission
		if *start.Model != "large" || *start.Mode != "careful" || start.Provider != "scripted" || start.Granted != (subagent.AuditGranted{Files: "none"}) {
			t.Errorf("start: %+v", start)
		}
		for _, digest := range []*string{start.PolicyDigest, asked.PolicyDigest} {
			if digest == nil || *digest != rules.Digest() {
				t.Errorf("policy digest %v, want %s", digest, rules.Digest())
			}
		}
	})

	t.Run("C11 a tool call without a question is marked", func(t *testing.T) {
		t.Parallel()
		var out auditBuffer
		s := play(t, `on session/prompt
			tool c1 "Quietly" kind=execute status=pending
			tool-update c1 status=in_progress
			tool-update c1 text="the same, once more"
			tool-update c1 status=completed
			tool c3 "Never heard of again" kind=edit
			`+ask("c2", "may-yes", "", "2")+`
			tool-update c2 status=completed`,
			&subagent.ACPOptions{Permission: newMeeting(1), Audit: &subagent.Audit{W: &out}})
		res := s.run("go")
		var got []string
		lines := out.records(t)
		for _, rec := range lines {
			if c := rec.ToolCall; c != nil {
				asked := "null"
				if c.Asked != nil {
					asked = fmt.Sprint(*c.Asked)
				}
				got = append(got, c.ID+" "+c.Status+" "+asked)
			}
		}
		check.Equal(t, "tool calls", strings.Join(got, ", "),
			"c1 pending null, c1 in_progress false, c1 completed false, c3 pending null, c2 completed true, c3 unknown false")
		for i, want := range []string{"c1 <nil>", "c3 <nil>", "c2 true"} {
			call, permitted := res.ToolCalls[i], "<nil>"
			if call.Permitted != nil {
				permitted = fmt.Sprint(*call.Permitted)
			}
			check.Equal(t, "in the result", call.ID+" "+permitted, want)
		}
		end := lines[len(lines)-1].End
		check.Equal(t, "totals", end.Totals, subagent.AuditTotals{ToolCalls: 3, Unasked: 2, Allowed: 1})
	})
}

// only is the only record of that type.
func only(t *testing.T, lines []subagent.AuditRecord, kind subagent.AuditType) subagent.AuditRecord {
	t.Helper()
	var found []subagent.AuditRecord
	for _, rec := range lines {
		if rec.Type == kind {
			found = append(found, rec)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d records of the type %s, want one", len(found), kind)
	}
	return found[0]
}
