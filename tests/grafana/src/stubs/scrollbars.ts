// Stands between Grafana's modules and react-custom-scrollbars-2, which is no module: its default is the component.
import Scrollbars from 'react-custom-scrollbars-2';

export default Scrollbars;
