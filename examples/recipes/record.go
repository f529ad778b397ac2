package recipes

import (
	"context"
	"os"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/subagent"
)

// recorded does a task and keeps the conversation with the agent, whatever comes of it. The
// file has all that was said, so it is for nobody else.
func recorded(ctx context.Context, agent subagent.Provider, task subagent.Request, name string) (*subagent.Result, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	task.Transcript = transcript.NewWriter(file)
	return subagent.Delegate(ctx, agent, task)
}

// alike returns a recorded conversation as it would be in the next run, too, if the agent
// said the same.
func alike(name, dir string) (*transcript.Transcript, error) {
	t, err := transcript.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return t.Normalize(
		transcript.IDs(), transcript.Times(), transcript.Versions(),
		transcript.Path(dir, "$DIR"), transcript.Command("agent"),
		transcript.Without(transcript.FromStderr), transcript.Merge(),
	), nil
}
