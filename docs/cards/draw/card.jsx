// A message, a modal or an App Home as its reader sees it in Slack. Rich text and mrkdwn are drawn by
// slack-blocks-to-jsx. Plain text it reads as markup, which Slack does not: so whatever holds plain text, inputs
// and the frames are drawn here.
import { createRoot } from "react-dom/client";
import { Message } from "slack-blocks-to-jsx";
import "slack-blocks-to-jsx/dist/style.css";
import "./card.css";

const LOGO = (
  <svg className="logo" viewBox="0 0 36 36">
    <rect width="36" height="36" rx="6" fill="#334155" />
    <path d="M8 28V14l10-6 10 6v14h-6V18h-8v10z" fill="white" />
  </svg>
);

const text = (object) => object?.text ?? "";

// ── what is filled in ─────────────────────────────────────────────────────────────────────────

const Box = ({ children, placeholder, className = "" }) => (
  <div className={`box ${className}`}>{children || <span className="placeholder">{placeholder}</span>}</div>
);

const Select = ({ chosen, placeholder }) => (
  <Box className="select" placeholder={placeholder || "Select an option"}>
    {chosen}
  </Box>
);

const Options = ({ element, kind, chosen }) =>
  element.options.map((option) => (
    <div className="option" key={option.value}>
      <span className={`${kind} ${chosen.includes(option.value) ? "on" : ""}`} />
      <div>
        {text(option.text)}
        {option.description && <div className="aside">{text(option.description)}</div>}
      </div>
    </div>
  ));

const values = (options) => (options ?? []).filter(Boolean).map((option) => option.value);
const texts = (options) => (options ?? []).filter(Boolean).map((option) => text(option.text)).join(", ");

function Filled({ element }) {
  const { type, placeholder } = element;
  const hint = text(placeholder);
  if (type === "checkboxes")
    return <Options element={element} kind="check" chosen={values(element.initial_options)} />;
  if (type === "radio_buttons")
    return <Options element={element} kind="radio" chosen={values([element.initial_option])} />;
  if (type.endsWith("_select"))
    return <Select chosen={texts(element.initial_options ?? [element.initial_option])} placeholder={hint} />;
  if (type === "datepicker") return <Select chosen={element.initial_date} placeholder={hint || "Select a date"} />;
  if (type === "timepicker") return <Select chosen={element.initial_time} placeholder={hint || "Select a time"} />;
  if (type.endsWith("_input"))
    return (
      <Box className={element.multiline ? "tall" : ""} placeholder={hint}>
        {element.initial_value}
      </Box>
    );
  return <Box className="strange">{`cannot draw ${type}`}</Box>;
}

const Input = ({ block }) => (
  <div className="input">
    <div className="label">
      {text(block.label)}
      {block.optional && <span className="aside"> (optional)</span>}
    </div>
    <Filled element={block.element} />
    {block.hint && <div className="aside">{text(block.hint)}</div>}
  </div>
);

// ── texts ─────────────────────────────────────────────────────────────────────────────────────

const Library = ({ block }) => <Message blocks={[block]} withoutWrapper theme="light" time={new Date(0)} name="" logo="" />;

const dated = (seconds, format) => {
  const at = new Date(seconds * 1000);
  const told = (options) => new Intl.DateTimeFormat("en-US", { timeZone: "UTC", ...options }).format(at);
  const day = told({ month: "short", day: "numeric", year: "numeric" });
  const long = told({ month: "long", day: "numeric", year: "numeric" });
  const time = told({ hour: "numeric", minute: "2-digit" });
  return format.replace(/{date_short(_pretty)?}/g, day).replace(/{date(_pretty)?}/g, long).replace(/{time}/g, time);
};
const DATE = /<!date\^(\d+)\^([^|^>]*)(?:\^[^|>]*)?\|[^>]*>/g; // the library leaves some of them as they are
const inMrkdwn = (object) => ({ ...object, text: object.text.replace(DATE, (_, at, format) => dated(Number(at), format)) });

const Text = ({ object }) =>
  object.type === "mrkdwn" ? (
    <Library block={{ type: "section", text: inMrkdwn(object) }} />
  ) : (
    <span className="plain">{object.text}</span>
  );

// ── the blocks that hold plain text ───────────────────────────────────────────────────────────

function Element({ element }) {
  const { type } = element;
  if (type === "button") return <span className={`button ${element.style ?? ""}`}>{text(element.text)}</span>;
  if (type === "overflow") return <span className="button more">⋮</span>;
  if (type === "checkboxes" || type === "radio_buttons") return <div><Filled element={element} /></div>;
  if (type === "image") return <Library block={{ type: "context", elements: [element] }} />;
  return <div className="inline"><Filled element={element} /></div>;
}

const Section = ({ block }) => (
  <div className="section">
    <div className="grow">
      {block.text && <Text object={block.text} />}
      {block.fields && (
        <div className="fields">
          {block.fields.map((field, n) => <div key={n}><Text object={field} /></div>)}
        </div>
      )}
    </div>
    {block.accessory && <Element element={block.accessory} />}
  </div>
);

const Context = ({ block }) => (
  <div className="context">
    {block.elements.map((element, n) =>
      element.type === "plain_text" ? (
        <Text key={n} object={element} />
      ) : (
        <Library key={n} block={{ type: "context", elements: [element.text ? inMrkdwn(element) : element] }} />
      ),
    )}
  </div>
);

const Actions = ({ block }) => (
  <div className="actions">
    {block.elements.map((element, n) => <Element key={n} element={element} />)}
  </div>
);

const OURS = {
  header: ({ block }) => <div className="header">{text(block.text)}</div>,
  section: Section,
  context: Context,
  actions: Actions,
  input: Input,
};

const Blocks = ({ blocks }) =>
  blocks.map((block, n) => {
    const Drawn = OURS[block.type] ?? Library;
    return <Drawn key={n} block={block} />;
  });

// ── what is around them ───────────────────────────────────────────────────────────────────────

const Posted = ({ blocks }) => (
  <div className="message">
    {LOGO}
    <div className="body">
      <div className="from">
        <b>Gatepost</b> <span className="app">APP</span> <span className="aside">14:02</span>
      </div>
      <Blocks blocks={blocks} />
    </div>
  </div>
);

const Modal = ({ view }) => (
  <div className="modal">
    <div className="bar">
      {LOGO}
      <b>{text(view.title)}</b>
      <span className="cross">✕</span>
    </div>
    <div className="inside">
      <Blocks blocks={view.blocks} />
    </div>
    <div className="foot">
      <span className="button">{text(view.close) || "Cancel"}</span>
      {view.submit && <span className="button primary">{text(view.submit)}</span>}
    </div>
  </div>
);

const Home = ({ view }) => (
  <div className="home">
    <div className="bar">
      {LOGO}
      <b>Gatepost</b>
    </div>
    <div className="tabs">
      <span className="tab on">Home</span>
      <span className="tab">Messages</span>
      <span className="tab">About</span>
    </div>
    <div className="inside">
      <Blocks blocks={view.blocks} />
    </div>
  </div>
);

const given = JSON.parse(document.getElementById("given").textContent);
const root = document.getElementById("root");
const FRAMES = { modal: Modal, home: Home };
const Frame = FRAMES[given.type];
createRoot(root).render(Frame ? <Frame view={given} /> : <Posted blocks={given.blocks} />);
// Read by tests/pictures.py, so that a picture is as high as what is in it; not said where nothing could be drawn.
setTimeout(() => {
  if (root.firstChild) document.documentElement.dataset.height = Math.ceil(root.getBoundingClientRect().height);
}, 300);
