package tools

func podSpecSetTool() Tool { return k8sSetTool("pod-spec-set", k8sPodSpec) }
