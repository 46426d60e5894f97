/**
 * The pulse: a text frame that shows that the agent lives, and the answer to it (P179). A runtime compares
 * texts and answers without waking the control plane, so that both are the same constant.
 */
export const PULSE = '{"type":"pulse"}';
