package conform

import (
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// sceneContent prompts with each type of content that there is, whether the agent has
// said that it takes it or not, and then once more with text.
var sceneContent = scene{
	name:  "content",
	about: "prompts with text, a resource link, an image, audio, an embedded resource and what there is none of",
	play: func(a *actor) {
		session, ok := a.session()
		if !ok {
			return
		}
		a.answer("session/request_permission", refusePermission)
		name := a.path("note.txt")
		if err := os.WriteFile(name, []byte(noteText), 0o600); err != nil {
			a.bar("the scratch directory: %v", err)
			return
		}
		if !a.converse("text", session, a.prompt(PromptText)) {
			return
		}
		// What only a turn brings forth must not come after its end; wait a moment for it.
		a.settle(afterTurn, time.Second)
		uri := (&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String()
		for _, block := range []map[string]any{
			{"type": "resource_link", "name": "note.txt", "uri": uri, "mimeType": "text/plain", "size": len(noteText)},
			{"type": "image", "mimeType": "image/png", "data": onePixel},
			{"type": "audio", "mimeType": "audio/wav", "data": base64.StdEncoding.EncodeToString(silence)},
			{"type": "resource", "resource": map[string]any{"uri": uri, "mimeType": "text/plain", "text": noteText}},
			{"type": unknownContent, "data": noteText},
		} {
			kind := block["type"].(string)
			if !a.converse(kind, session, a.prompt(PromptText), block) {
				return // it may still be at work on this one
			}
		}
		a.converse("again", session, a.prompt(PromptText))
	},
}

// afterTurn is how long we listen for what should have come before the answer.
const afterTurn = 100 * time.Millisecond

const (
	// unknownContent is a type of content that no agent can advertise.
	unknownContent = "_errand_unknown"

	noteText = "A note of the conformance check. Nothing needs to be done about it.\n"
	// onePixel is a PNG of one transparent pixel.
	onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

// silence is a WAV file of eight samples.
var silence = []byte("RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x08\x00\x00\x00\x80\x80\x80\x80\x80\x80\x80\x80")

// converse prompts with a text and more blocks and waits for the end of the turn. Not ok:
// there was none, and the scene is over.
func (a *actor) converse(label, session, text string, more ...map[string]any) bool {
	if _, ok := a.call(label, "session/prompt", promptOf(session, text, more...)); ok {
		return true
	}
	a.stop("the prompt %q was not answered", label)
	return false
}

// promptOf is the params of a session/prompt.
func promptOf(session, text string, more ...map[string]any) map[string]any {
	blocks := []any{map[string]any{"type": "text", "text": text}}
	for _, block := range more {
		blocks = append(blocks, block)
	}
	return map[string]any{"sessionId": session, "prompt": blocks}
}
