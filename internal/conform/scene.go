package conform

// scene is a conversation with an agent that many rules look at.
type scene struct {
	name  string
	about string // what happens in it, in a few words
	play  func(a *actor)
}

// scenes are all scenes. The first one is played first and alone: an agent that does not
// even answer initialize there is not asked again.
var scenes = []scene{
	sceneHandshake,
	sceneVersions,
	sceneAuth,
	sceneDirectories,
	sceneSessions,
	sceneMethods,
	sceneFrames,
	sceneEOFInTurn,
	sceneTermInTurn,
	sceneContent,
	scenePermission,
	sceneCancel,
	sceneCancelPermission,
	sceneBusy,
	sceneTools,
	sceneClient,
}
