package subagent

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/permission"
)

// maxAuditCalls bounds the lines on tool calls of one run, which an agent can change
// without end.
const maxAuditCalls = maxCards

// auditRun is the audit of one run. Its methods are for any goroutine; those of a nil one,
// of a run without an audit, do nothing.
type auditRun struct {
	audit *Audit
	run   *run
	start AuditStart // without what its Result will say

	mu sync.Mutex // guards what is below; held while a line is made, so that lines are in order
	// early holds what came before the start was told: until then there is no session, and
	// the secrets are not known.
	early      []AuditRecord
	earlyBytes int
	begun      bool
	session    *string
	calls      int // lines on tool calls

	tally auditTally // guarded by audit.mu
}

// newAuditRun returns the audit of r, which is a run of p; nil without one.
func newAuditRun(p *acpProvider, r *run) *auditRun {
	if p.opts.Audit == nil {
		return nil
	}
	return &auditRun{audit: p.opts.Audit, run: r, start: AuditStart{
		PolicyDigest: nonEmpty(turnPolicy{policy: p.opts.Permission}.Digest()),
		Granted:      AuditGranted{Files: grantedFiles(p.opts.Files), Terminals: p.opts.Terminals},
	}}
}

func grantedFiles(access client.FileAccess) string {
	if access == client.FilesNone {
		return "none"
	}
	return string(access)
}

// begin tells the start, and what came before it.
func (a *auditRun) begin(res *Result) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	start := a.start
	start.Start = startOf(res)
	a.begun, a.session = true, res.SessionID
	a.write(AuditRecord{Type: AuditTypeStart, Time: a.run.born, Start: &start})
	for _, rec := range a.early {
		if p := rec.Permission; p != nil && !a.run.knowsSecrets() {
			hideIDs(p)
		}
		a.write(rec)
	}
	a.early = nil
}

// spoken reports whether there is anything to tell.
func (a *auditRun) spoken() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun || len(a.early) > 0
}

// hideIDs takes out what the client has left as the agent said it, where we cannot tell a
// secret: of a process that was gone before there was a session.
func hideIDs(p *AuditPermission) {
	p.SessionID, p.ToolCallID, p.Rule = redact.Mark, redact.Mark, redact.Mark
	if p.OptionID != nil {
		p.OptionID = nonEmpty(redact.Mark)
	}
	p.Options = mapTexts(p.Options, textMap{text: func(string) string { return redact.Mark }, items: len(p.Options)})
}

// end tells the end, waits until the run's lines are written, and warns of what is
// missing.
func (a *auditRun) end(final *Result) {
	if a == nil {
		return
	}
	end := auditEnd(final)
	a.audit.mu.Lock()
	end.Totals.Lost = a.tally.lost
	a.audit.mu.Unlock()
	a.add(AuditRecord{Type: AuditTypeEnd, End: end})
	if missing := a.audit.flush(&a.tally); missing != "" {
		final.Warnings = append(final.Warnings, a.run.redact(missing))
	}
}

func (a *auditRun) permission(rec permission.Record) {
	if a == nil {
		return
	}
	if !a.audit.Content {
		rec.RawInput = nil
		if rec.Facts != nil {
			rec.Facts = metadata(rec.Facts)
		}
	}
	a.add(AuditRecord{Type: AuditTypePermission, Permission: &AuditPermission{Record: rec, PolicyDigest: a.start.PolicyDigest}})
}

// metadata returns the facts without what a call writes or sends.
func metadata(f *permission.Facts) *permission.Facts {
	out := f.Map(func(text string) string { return text }) // a copy
	out.Diffs = []permission.Diff{}
	for _, c := range out.Commands {
		for i, v := range c.Env {
			c.Env[i], _, _ = strings.Cut(v, "=")
		}
	}
	for i := range out.Hosts {
		out.Hosts[i].Told = ""
	}
	return &out
}

// toolCall tells of a call that has changed. f is what the agent said; nil at the end.
func (a *auditRun) toolCall(call ToolCall, changed bool, f fields) {
	if a == nil {
		return
	}
	line := AuditToolCall{ToolCall: call}
	if a.audit.Content {
		line.content(f)
	}
	if !changed && line.RawInput == nil && line.Diffs == nil {
		return
	}
	if asked := call.Permitted != nil; asked || call.Status != "pending" {
		line.Asked = &asked
	}
	a.add(AuditRecord{Type: AuditTypeToolCall, ToolCall: &line})
}

// content reads the raw input and the diffs of an update.
func (c *AuditToolCall) content(f fields) {
	if raw := f["rawInput"]; raw != nil {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber() // as the agent wrote them
		if d.Decode(&c.RawInput) != nil {
			c.RawInput = nil
		}
	}
	for _, raw := range f.list("content") {
		part := readFields(raw)
		path, text := part.text("path"), part.text("newText")
		if kind := part.text("type"); kind != nil && *kind == "diff" && path != nil && text != nil {
			c.Diffs = append(c.Diffs, permission.Diff{Path: *path, Old: part.text("oldText"), New: *text})
		}
	}
}

func (a *auditRun) file(rec client.FileRecord) {
	if a != nil {
		a.add(AuditRecord{Type: AuditTypeFile, File: &rec})
	}
}

func (a *auditRun) command(rec client.CommandRecord) {
	if a != nil {
		a.add(AuditRecord{Type: AuditTypeCommand, Command: &rec})
	}
}

// add writes a line, or keeps it until the start was told.
func (a *auditRun) add(rec AuditRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rec.Time = time.Now()
	if rec.Type == AuditTypeToolCall {
		if a.calls++; a.calls > maxAuditCalls {
			a.audit.lose(&a.tally, errors.New("the agent changed its tool calls more often than is told"))
			return
		}
	}
	if a.begun {
		a.write(rec)
		return
	}
	raw, _ := json.Marshal(rec) // it was decoded from JSON
	if a.earlyBytes += len(raw) + 256; a.earlyBytes > keepEarly {
		a.audit.lose(&a.tally, errors.New("too much came before the session"))
		return
	}
	a.early = append(a.early, rec)
}

// write makes a line and queues it.
func (a *auditRun) write(rec AuditRecord) {
	rec.SchemaVersion, rec.RunID, rec.SessionID, rec.Turn = SchemaVersion, a.run.id, a.session, 1
	text, err := rec.line(a.run.req.Labels, a.run.redact)
	if err != nil {
		a.audit.lose(&a.tally, err)
		return
	}
	a.audit.push(auditLine{text, &a.tally})
}
